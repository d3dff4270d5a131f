package e2e

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gonutch/crawler/sdk/testsite"
)

// TestShop: a shop that is made by scripts has no product for a crawl that takes pages as
// they are sent, and all of them for one that shows them in a browser, with pictures.
func TestShop(t *testing.T) {
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("no Chromium: apt-get install chromium")
	}
	s := testsite.Start(t, testsite.Options{})
	products := testsite.Shop(s.Site(), 12)
	crawl := func(more string) (dir, config string) {
		tmp := t.TempDir()
		dir, config = filepath.Join(tmp, "crawl"), writeFile(t, tmp, "shop.hcl", `
http {
  agent_name = "testbot"
  agent_url  = "http://example.org/bot"
}
fetcher { server_delay = "0s" }
store { low_water = "0" }
`+more)
		mustRun(t, "run", "--config", config, "--dir", dir, "--seeds", s.Site().URL("/"), "--rounds", "2")
		return dir, config
	}
	found := func(dir, config string) int {
		log, err := os.ReadFile(filepath.Join(dir, "crawl.log"))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, p := range products {
			if strings.Contains(string(log), "\t"+s.Site().URL(p)+"\t") {
				n++
			}
		}
		return n
	}
	if n := found(crawl("")); n != 0 {
		t.Errorf("protocol-http found %d products", n)
	}
	dir, config := crawl(fmt.Sprintf(`
plugin { add = ["protocol-browser"] }
protocol { rules = ["protocol-browser ^http://127\\.0\\.0\\.1"] }
plugin "protocol-browser" {
  sandbox    = %t
  screenshot = "window"
  idle_time  = "3s" # a busy machine is slow
  block      = []
  steps      = ["on /$", "click_while .more"]
}
`, os.Getuid() != 0))
	if n := found(dir, config); n != len(products) {
		t.Errorf("protocol-browser found %d of %d products", n, len(products))
	}
	// The text that a script brought is in the index.
	if out := mustRun(t, "search", "--config", config, "--dir", dir, "Price"); !strings.Contains(out, "/product/") || !strings.Contains(out, ".99") {
		t.Errorf("search: %s", out)
	}
	segments, err := filepath.Glob(filepath.Join(dir, "segments", "*"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("segments %v, %v", segments, err)
	}
	shot := mustRun(t, "readseg", "--config", config, "--dir", dir, "--get", "--attachment", "view", filepath.Base(segments[0]), s.Site().URL("/"))
	picture, err := png.Decode(bytes.NewReader([]byte(shot)))
	if err != nil {
		t.Fatalf("screenshot: %v", err)
	}
	if b := picture.Bounds(); b.Dx() != 1280 || b.Dy() != 1024 {
		t.Errorf("the screenshot is %s", b)
	}
	colours := map[[4]uint32]bool{}
	for x := range picture.Bounds().Dx() {
		r, g, b, a := picture.At(x, 200).RGBA()
		colours[[4]uint32{r, g, b, a}] = true
	}
	if len(colours) < 3 { // paper, boxes, their borders
		t.Errorf("the screenshot has %d colours in one line: nothing is on it", len(colours))
	}
}
