package chain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// ordered returns the members that provide point: those that first names, by
// plugin or extension id, in that order, the rest by plugin id.
func ordered(members map[string]*member, point string, first []string) []*member {
	var out []*member
	for _, m := range members {
		if len(m.provides(point)) > 0 {
			out = append(out, m)
		}
	}
	rank := func(m *member) int {
		i := slices.IndexFunc(first, func(name string) bool { return m.is(point, name) })
		if i < 0 {
			return len(first)
		}
		return i
	}
	slices.SortFunc(out, func(a, b *member) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.id, b.id))
	})
	return out
}

// only returns the members of point that Options.Only leaves.
func (c *Chains) only(point string, order []*member) []*member {
	id, ok := c.opts.Only[point]
	if !ok {
		return order
	}
	return slices.DeleteFunc(order, func(m *member) bool { return m.id != id })
}

// is reports whether name is the member's id, or that of its extension of the
// point.
func (m *member) is(point, name string) bool {
	if m.id == name {
		return true
	}
	for _, p := range m.provides(point) {
		if p.Extension == name {
			return true
		}
	}
	return false
}

// checkOrder reports names in an order that no chosen plugin of the point
// answers to, and plugins that are named twice.
func checkOrder(members map[string]*member, point, setting string, first []string) []error {
	var errs []error
	seen := map[*member]bool{}
	for _, name := range first {
		var found *member
		for _, m := range members {
			if len(m.provides(point)) > 0 && m.is(point, name) {
				found = m
			}
		}
		switch {
		case found == nil && members[name] != nil:
			errs = append(errs, fmt.Errorf("%s: plugin %s provides no %s", setting, name, point))
		case found == nil:
			errs = append(errs, fmt.Errorf("%s: %q is not an active plugin", setting, name))
		case seen[found]:
			errs = append(errs, fmt.Errorf("%s: plugin %s is named twice", setting, found.id))
		}
		if found != nil {
			seen[found] = true
		}
	}
	return errs
}
