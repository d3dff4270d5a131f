package libxml

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// log writes what it is told as text.
type log struct {
	strings.Builder
	stop string // name of the element at which the walk ends
}

func (l *log) Start(name string, attrs []Attr) bool {
	fmt.Fprintf(l, "<%s", name)
	for _, a := range attrs {
		fmt.Fprintf(l, " %s=%q", a.Name, a.Value)
	}
	l.WriteString(">")
	return name != l.stop
}

func (l *log) Text(s string) bool {
	l.WriteString(s)
	return true
}

func (l *log) End(name string) bool {
	fmt.Fprintf(l, "</%s>", name)
	return true
}

func TestWalk(t *testing.T) {
	for _, c := range []struct {
		in, want string
		open     bool
	}{
		{in: "<a x='1' y:z=\"&lt;&#233;\">&amp;b<c/><![CDATA[<d>]]></a>", want: `<a x="1" y:z="<é">&b<c></c><d></a>`},
		{in: "<?xml version='1.0'?><!-- <x> --><!DOCTYPE a><a/>", want: "<a></a>"},
		{in: "<a><b>x</a>", want: "<a><b>x</b></a>"},
		{in: "<a><b>x", want: "<a><b>x</b></a>", open: true},
		{in: "<a><b x='", want: "<a></a>", open: true},
		{in: "<a></b></a>", want: "<a></a>"},
		{in: "<a>x\x00y</a>", want: "<a>x y</a>"},
		{in: "<a>&undefined; &</a>", want: "<a>&undefined; &</a>"},
		{in: "text", want: "text"},
		{in: "<stop><x/></stop>", want: "<stop>"},
	} {
		l := &log{stop: "stop"}
		open, err := Walk([]byte(c.in), Limits{}, l)
		if err != nil || l.String() != c.want || open != c.open {
			t.Errorf("%q: %q, open %v, %v; want %q", c.in, l.String(), open, err, c.want)
		}
	}
	for in, want := range map[string]string{
		"<!DOCTYPE a [<!ENTITY x 'y'>]><a/>": "declares entities",
		strings.Repeat("<a>", 257):           "nested more than",
	} {
		var r *Refused
		if _, err := Walk([]byte(in), Limits{}, &log{}); !errors.As(err, &r) || !strings.Contains(r.Reason, want) {
			t.Errorf("%.40s: %v", in, err)
		}
	}
}

func FuzzWalk(f *testing.F) {
	f.Add([]byte("<!DOCTYPE a><a x='1'>&lt;<b/><![CDATA[c]]></a>"))
	f.Fuzz(func(t *testing.T, b []byte) {
		l := &depths{}
		if _, err := Walk(b, Limits{Depth: 10}, l); err == nil && l.n != 0 {
			t.Fatalf("%d elements were not ended", l.n)
		}
	})
}

type depths struct{ n int }

func (d *depths) Start(string, []Attr) bool { d.n++; return true }
func (d *depths) Text(string) bool          { return true }
func (d *depths) End(string) bool           { d.n--; return true }
