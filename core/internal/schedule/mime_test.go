package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/sdk/model"
)

func TestReadMIMERates(t *testing.T) {
	got, err := ReadMIMERates("m.txt", strings.NewReader("\ufeff# types\n\ntext/HTML\t0.2\t0.3\r\napplication/pdf 1.5 0\n"))
	want := map[string]Rates{"text/html": {0.2, 0.3}, "application/pdf": {1.5, 0}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	_, err = ReadMIMERates("m.txt", strings.NewReader("html 1 1\ntext/html\t-1\t0.2\na/b 0.1 1\na/c NaN 0\na/d 0 0\na/d 0 0\na/e 0\n"))
	for _, w := range []string{"m.txt:1: ", "m.txt:2: increase rate", "m.txt:3: decrease rate", "m.txt:4: increase rate", "m.txt:6: a/d is there twice", "m.txt:7: "} {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("%v does not say %q", err, w)
		}
	}
}

func TestMIMEAdaptive(t *testing.T) {
	for _, c := range []struct {
		name, mime string
		change     Change
		fixed      bool
		want       time.Duration
	}{
		{"html unchanged", "text/html; charset=UTF-8", NotModified, false, 12 * day},
		{"html changed", "Text/HTML", Modified, false, 8 * day},
		{"pdf unchanged", "application/pdf", NotModified, false, 11 * day},
		{"pdf changed", "application/pdf", Modified, false, 6 * day},
		{"other unchanged", "image/png", NotModified, false, 14 * day},
		{"other changed", "image/png", Modified, false, 8 * day},
		{"no type", "", NotModified, false, 14 * day},
		{"unknown", "text/html", Unknown, false, 10 * day},
		{"fixed", "text/html", NotModified, true, 10 * day},
	} {
		s := mustNew(t, func(cfg *Config) {
			cfg.Name, cfg.MIMERates, cfg.SyncDelta = MIMEAdaptive, DefaultMIMERates(), false
		})
		d := model.CrawlDatum{Interval: 10 * day, FixedInterval: c.fixed, ModifiedTime: t0.Add(-day)}
		if c.mime != "" {
			d.Metadata = model.Metadata{"Content-Type": {c.mime}}
		}
		if got := s.SetFetched(d, t0, c.change); got.Interval != c.want || !got.FetchTime.Equal(t0.Add(c.want)) {
			t.Errorf("%s: interval %v, due after %v; want %v", c.name, got.Interval, got.FetchTime.Sub(t0), c.want)
		}
		plain := mustNew(t, func(cfg *Config) { adaptive(cfg); cfg.MIMERates, cfg.SyncDelta = DefaultMIMERates(), false })
		if c.mime == "application/pdf" && plain.SetFetched(d, t0, c.change).Interval == c.want {
			t.Errorf("%s: the table counts for schedule adaptive, too", c.name)
		}
	}
}

func FuzzReadMIMERates(f *testing.F) {
	f.Add("text/html\t0.2\t0.2")
	f.Fuzz(func(t *testing.T, text string) {
		rates, err := ReadMIMERates("f", strings.NewReader(text))
		if err != nil {
			return
		}
		for mime, r := range rates {
			if !(r.Inc >= 0 && r.Dec >= 0 && r.Dec < 1) || !strings.Contains(mime, "/") {
				t.Errorf("%q: %+v", mime, r)
			}
		}
	})
}
