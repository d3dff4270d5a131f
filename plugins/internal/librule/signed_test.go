package librule_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gonutch/crawler/plugins/internal/librule"
)

func contains(_ librule.Line, expr string) (librule.Matcher, error) {
	switch expr {
	case "bad":
		return nil, errors.New("it is bad")
	case "slow":
		return func(string) (bool, error) { return false, errors.New("limit") }, nil
	}
	return func(url string) (bool, error) { return strings.Contains(url, expr), nil }, nil
}

func TestSigned(t *testing.T) {
	s, err := librule.CompileSigned(librule.Split("f", "# c\n-gif\n\n> Example.org.\n+a\n<\n-slow\n+http"), contains)
	if err != nil || s.Len() != 4 {
		t.Fatal(s.Len(), err)
	}
	for _, c := range []struct {
		url, reason string
		accept      bool
	}{
		{"http://x/a.gif", "f:2: -gif", false},
		{"http://www.example.org/a", "f:5: +a", true},
		{"http://EXAMPLE.org:80/a", "f:5: +a", true},
		{"http://notexample.org/a", "f:7: -slow (time limit)", false},
	} {
		accept, reason, _ := s.Judge(c.url)
		if accept != c.accept || reason != c.reason {
			t.Errorf("%s = %v, %q; want %v, %q", c.url, accept, reason, c.accept, c.reason)
		}
	}
}

func TestSignedErrorsAreCollected(t *testing.T) {
	_, err := librule.CompileSigned(librule.Split("f", "+bad\nx\n<\n> \n<\n> h/a\n+a\n"), contains)
	for _, want := range []string{"f:1: it is bad", `f:2: line starts with "x"`, "f:3: < closes", "f:4: a section needs", "f:6: a section needs", `f:6: section "h/a" is not closed`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
}
