package testweb

import (
	"strings"

	"github.com/gonutch/crawler/sdk/model"
)

// StatusSet is a set of CrawlDB statuses.
type StatusSet uint32

func setOf(ss ...model.Status) (set StatusSet) {
	for _, s := range ss {
		set |= 1 << s
	}
	return set
}

// Has reports whether s is in the set.
func (set StatusSet) Has(s model.Status) bool { return s < 32 && set&(1<<s) != 0 }

// Statuses returns the members in the order of their codes.
func (set StatusSet) Statuses() (out []model.Status) {
	for _, s := range model.DBStatuses() {
		if set.Has(s) {
			out = append(out, s)
		}
	}
	return out
}

// String returns the names, separated by commas.
func (set StatusSet) String() string {
	var names []string
	for _, s := range set.Statuses() {
		names = append(names, s.String())
	}
	return strings.Join(names, ",")
}

// MarshalText makes JSON of the set what String says.
func (set StatusSet) MarshalText() ([]byte, error) { return []byte(set.String()), nil }
