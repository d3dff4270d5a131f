// Command baseline is what the crawler's cost is compared with: one process
// that fetches every page it can reach and extracts its links, with net/http and
// x/net/html and nothing else: no robots.txt, no politeness, no store, no index.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/html"
)

func main() {
	proxy := flag.String("proxy", "", "proxy `URL` that stands for the web")
	seed := flag.String("seed", "http://host0.test/", "first page")
	workers := flag.Int("workers", 50, "requests at once")
	flag.Parse()
	if err := run(*proxy, *seed, *workers); err != nil {
		fmt.Fprintln(os.Stderr, "baseline:", err)
		os.Exit(1)
	}
}

// crawl holds what has been seen and what is still to be asked for.
type crawl struct {
	client *http.Client
	mu     sync.Mutex
	cond   *sync.Cond
	seen   map[string]bool
	queue  []string
	busy   int
	pages  int
	bytes  int64
}

func run(proxy, seed string, workers int) error {
	via, err := url.Parse(proxy)
	if err != nil {
		return err
	}
	c := &crawl{seen: map[string]bool{seed: true}, queue: []string{seed}, client: &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyURL(via), MaxIdleConnsPerHost: workers, MaxIdleConns: workers},
		Timeout:   30 * time.Second,
	}}
	c.cond = sync.NewCond(&c.mu)
	start := time.Now()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(c.work)
	}
	wg.Wait()
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		return err
	}
	cpu := time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	fmt.Printf("pages=%d bytes=%d seconds=%.2f cpu_us_per_page=%.1f\n", c.pages, c.bytes, time.Since(start).Seconds(), float64(cpu.Microseconds())/float64(c.pages))
	return nil
}

func (c *crawl) work() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		for len(c.queue) == 0 && c.busy > 0 {
			c.cond.Wait()
		}
		if len(c.queue) == 0 {
			c.cond.Broadcast()
			return
		}
		u := c.queue[0]
		c.queue = c.queue[1:]
		c.busy++
		c.mu.Unlock()
		n, links := c.fetch(u)
		c.mu.Lock()
		c.busy--
		c.pages++
		c.bytes += int64(n)
		for _, l := range links {
			if !c.seen[l] {
				c.seen[l] = true
				c.queue = append(c.queue, l)
			}
		}
		c.cond.Broadcast()
	}
}

func (c *crawl) fetch(u string) (int, []string) {
	resp, err := c.client.Get(u)
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return len(body), nil
	}
	doc, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		return len(body), nil
	}
	base := resp.Request.URL
	var links []string
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.ElementNode && n.Data == "a" {
			for _, a := range n.Attr {
				if a.Key != "href" {
					continue
				}
				if l, err := base.Parse(a.Val); err == nil && l.Scheme == "http" {
					l.Fragment = ""
					links = append(links, l.String())
				}
			}
		}
		for k := n.FirstChild; k != nil; k = k.NextSibling {
			walk(k)
		}
	}
	walk(doc)
	return len(body), links
}
