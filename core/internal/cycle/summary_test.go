package cycle

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/pluginhost"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/sdk/model"
)

// TestSummaryNamesPoisonousURLs: each once, with the reason, whichever step met it.
func TestSummaryNamesPoisonousURLs(t *testing.T) {
	s := &Summary{}
	poison := func(plugin string) error {
		return fmt.Errorf("plugin %s: %w", plugin, &pluginhost.PoisonError{
			Plugin: plugin, Times: 3, Last: &pluginhost.LostError{Reason: pluginhost.Crashed, Detail: "exit status 7"},
		})
	}
	s.failed("http://a.test/broken", errors.New("just an error"))
	s.failed("http://a.test/1", poison("parse-x"))
	s.failed("http://a.test/1", poison("index-x"))
	s.fetched(&segment.Fetch{URL: "http://a.test/2", Status: model.StatusFetchGone, Protocol: model.ProtocolStatus{
		Code: model.ProtocolFailed, Message: poison("protocol-x").Error(),
	}})
	s.fetched(&segment.Fetch{URL: "http://a.test/3", Status: model.StatusFetchGone, Protocol: model.ProtocolStatus{Code: model.ProtocolFailed, Message: "no route"}})
	want := []string{
		"http://a.test/1: poisonous: plugin parse-x crashed 3 times on this record: exit status 7",
		"http://a.test/2: poisonous: plugin protocol-x crashed 3 times on this record: exit status 7",
	}
	if d := cmp.Diff(want, s.Report().Poisonous); d != "" {
		t.Error(d)
	}
	for i := range 2 * maxPoisonous {
		s.failed(fmt.Sprintf("http://b.test/%d", i), poison("parse-x"))
	}
	if n := len(s.Report().Poisonous); n != maxPoisonous {
		t.Errorf("%d URLs are listed, want %d", n, maxPoisonous)
	}
}

func TestParseFailureWords(t *testing.T) {
	for _, c := range []struct {
		p    segment.Parsed
		want string
	}{
		{segment.Parsed{Parser: "parse-html", Status: model.ParseStatus{Minor: model.ParseFailedException, Message: "a <- b"}}, "parse-html: error"},
		{segment.Parsed{Parser: "parse-x", Status: model.ParseStatus{Minor: model.ParseFailedException, Message: "plugin parse-x: poisonous: …"}}, "parse-x: poisonous"},
		{segment.Parsed{Status: model.ParseStatus{Minor: model.ParseFailedInvalidFormat, Message: "no parser for type \"a/b\""}}, "no parser for the type"},
		{segment.Parsed{Parser: "parse-x", Status: model.ParseStatus{Minor: model.ParseFailedInvalidFormat}}, "parse-x: invalid format"},
		{segment.Parsed{Status: model.ParseStatus{Minor: model.ParseFailedTruncated}}, "truncated"},
		{segment.Parsed{Parser: "parse-x", Status: model.ParseStatus{Minor: 299}}, "parse-x: failure 299"},
	} {
		c.p.Status.Major = model.ParseFailed
		if got := parseFailure(&c.p); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.p.Status, got, c.want)
		}
	}
}
