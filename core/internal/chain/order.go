package chain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// ordered returns the members that provide point: those named first in that
// order, the rest by id.
func ordered(members map[string]*member, point string, first []string) []*member {
	var out []*member
	for _, m := range members {
		if len(m.provides(point)) > 0 {
			out = append(out, m)
		}
	}
	rank := func(m *member) int {
		if i := slices.Index(first, m.id); i >= 0 {
			return i
		}
		return len(first)
	}
	slices.SortFunc(out, func(a, b *member) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.id, b.id))
	})
	return out
}

// checkOrder reports names of an order that no chosen plugin answers to.
func checkOrder(members map[string]*member, point, setting string, first []string) []error {
	var errs []error
	for i, id := range first {
		switch m := members[id]; {
		case m == nil:
			errs = append(errs, fmt.Errorf("%s: %q is not an active plugin", setting, id))
		case len(m.provides(point)) == 0:
			errs = append(errs, fmt.Errorf("%s: plugin %s provides no %s", setting, id, point))
		case slices.Contains(first[:i], id):
			errs = append(errs, fmt.Errorf("%s: %q is named twice", setting, id))
		}
	}
	return errs
}
