package fetch

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	crawler "github.com/gonutch/crawler"
	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/sheet"
)

func sheets(t *testing.T, text string) *sheet.Sheets {
	t.Helper()
	name := filepath.Join(t.TempDir(), "site.hcl")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Options{Defaults: crawler.Defaults(), Files: []string{name}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := sheet.Load(c)
	if err != nil {
		t.Fatal(err)
	}
	return r.Sheets
}

// TestSlowSheet: a round waits for a host whose sheet makes it slow.
func TestSlowSheet(t *testing.T) {
	s := sheets(t, `sheet "slow" {
  hosts       = ["slow"]
  crawl_delay = "10m"
}`)
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Sheets = s
		b := newBench(cfg, nil)
		b.fetch(t, urls("slow", 3)...)
		if d := cmp.Diff(all(urls("slow", 3), "fetch_success"), b.results(t)); d != "" {
			t.Error(d)
		}
	})
}

// TestSheets: delay, headers and limit of a host's sheet are in its requests, and in those
// of no other host.
func TestSheets(t *testing.T) {
	s := sheets(t, `sheet "slow" {
  hosts         = ["slow"]
  crawl_delay   = "5s"
  content_limit = "1KiB"
  headers       = { X-Key = "k" }
}`)
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Sheets = s
		b := newBench(cfg, nil)
		b.eng.deps.Delay = func(host string) (time.Duration, bool) { return 3 * time.Second, host == "expr" || host == "slow" }
		b.fetch(t, append(append(urls("slow", 4), urls("other", 4)...), urls("expr", 4)...)...)
		gaps := map[string]time.Duration{"slow": 5 * time.Second, "other": delay, "expr": 3 * time.Second}
		last := map[string]time.Time{}
		for _, x := range b.log {
			host := x.URL[len("http://"):][:len("slow")]
			for h := range gaps {
				if h[:4] == host {
					host = h
				}
			}
			if before, ok := last[host]; ok {
				if gap := x.start.Sub(before); gap < gaps[host] || gap > gaps[host]+time.Second {
					t.Errorf("%s: asked %v after the last answer, want %v", x.URL, gap, gaps[host])
				}
			}
			last[host] = x.end
			want, limit := "", int64(0)
			if host == "slow" {
				want, limit = "k", 1<<10
			}
			if got := x.Headers.First("X-Key"); got != want {
				t.Errorf("%s: header %q, want %q", x.URL, got, want)
			}
			if robots := x.MaxBytes == cfg.Robots.ContentLimit; !robots && x.MaxBytes != limit {
				t.Errorf("%s: limit %d, want %d", x.URL, x.MaxBytes, limit)
			}
		}
		if len(last) != 3 {
			t.Errorf("asked: %v", last)
		}
	})
}
