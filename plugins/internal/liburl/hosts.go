package liburl

import (
	"fmt"
	"strings"
)

// Hosts maps hosts to values: exact names, and "*.domain", which stands for the
// domain itself and all names below it. The zero value is ready for Set; once
// filled, a table may be read by many goroutines.
type Hosts[V any] struct {
	exact, below map[string]V
}

// Set gives name, a host or "*.domain", a value. It returns the value that the
// same name had, and an error when name can be no host.
func (h *Hosts[V]) Set(name string, v V) (old V, had bool, err error) {
	m, host := &h.exact, name
	if rest, ok := strings.CutPrefix(name, "*."); ok {
		m, host = &h.below, rest
	}
	if err := CheckHost(host); err != nil {
		return old, false, err
	}
	if *m == nil {
		*m = map[string]V{}
	}
	key := HostKey(host)
	old, had = (*m)[key]
	(*m)[key] = v
	return old, had, nil
}

// Len is the number of names.
func (h *Hosts[V]) Len() int { return len(h.exact) + len(h.below) }

// Get returns the value of host, whose key is HostKey's: its own, else that of
// the nearest "*.domain".
func (h *Hosts[V]) Get(key string) (v V, ok bool) {
	if v, ok = h.exact[key]; ok || len(h.below) == 0 {
		return v, ok
	}
	for {
		if v, ok = h.below[key]; ok {
			return v, true
		}
		i := strings.IndexByte(key, '.')
		if i < 0 {
			return v, false
		}
		key = key[i+1:]
	}
}

// CheckHost says why name, as a person wrote it in a rule, can be no host.
func CheckHost(name string) error {
	inner := name
	if strings.HasPrefix(name, "[") && strings.HasSuffix(name, "]") {
		inner = strings.ReplaceAll(name[1:len(name)-1], ":", "")
	}
	if i := strings.IndexAny(inner, "/:?#@*[]\\ \t"); i >= 0 {
		return fmt.Errorf("%q is no host name: it has a %q in it", name, inner[i])
	}
	if inner == "" || strings.HasPrefix(inner, ".") || strings.Contains(inner, "..") {
		return fmt.Errorf("%q is no host name: it has an empty label", name)
	}
	return nil
}
