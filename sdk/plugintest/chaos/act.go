package chaos

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gonutch/crawler/sdk/fault"
)

// plan is what is to become of a batch once its misbehaviour is over.
type plan struct {
	errs     []error // nil, or as long as the batch
	nonsense []bool  // items to be answered with nonsense
	answers  int     // how many answers to give
	huge     string  // text for the first answer, "" for none
}

// act misbehaves as urls, one for each item, ask for.
func (c *plugin) act(ctx context.Context, point string, urls []string) (plan, error) {
	p := plan{nonsense: make([]bool, len(urls)), answers: len(urls)}
	if len(c.Points) > 0 && !slices.Contains(c.Points, point) {
		return p, nil
	}
	for i, u := range urls {
		if err := c.item(ctx, &p, i, u); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (c *plugin) item(ctx context.Context, p *plan, i int, url string) error {
	b := Of(url)
	switch b {
	case Short:
		p.answers = len(p.nonsense) - 1
	case Long:
		p.answers = len(p.nonsense) + 1
	case Huge:
		p.huge = strings.Repeat("x", int(c.Huge))
	case Nonsense:
		p.nonsense[i] = true
	case Panic:
		panic("chaos: " + url)
	case Refuse:
		return fault.Errorf(fault.Transient, "chaos: refused %s", url)
	case Slow:
		select {
		case <-time.After(c.Slow.D()):
		case <-ctx.Done():
			return ctx.Err()
		}
	default:
		if kind, ok := kindOf(b); ok {
			if p.errs == nil {
				p.errs = make([]error, len(p.nonsense))
			}
			p.errs[i] = fault.Errorf(kind, "chaos: %s", url)
			return nil
		}
		return c.process(b, url)
	}
	return nil
}

func kindOf(b Behaviour) (fault.Kind, bool) {
	for _, k := range []fault.Kind{fault.Permanent, fault.Transient, fault.Denied, fault.Invalid, fault.Shutdown} {
		if k.String() == string(b) {
			return k, true
		}
	}
	return 0, false
}

// process does what concerns the whole process.
func (c *plugin) process(b Behaviour, url string) error {
	switch b {
	case Crash:
		os.Exit(7)
	case CrashOnce:
		if c.first(url) {
			os.Exit(7)
		}
	case Kill:
		killSelf()
	case Fatal:
		go panic("chaos: " + url)
		hang()
	case Stop:
		stopSelf()
	case Hang:
		hang()
	case Spin:
		for range runtime.GOMAXPROCS(0) {
			go spin()
		}
		hang()
	case Hog:
		c.take(int(c.Hog))
		hang()
	case Leak:
		c.take(int(c.Leak))
	case Fork:
		return c.fork(false)
	case Daemon:
		return c.fork(true)
	case Noise:
		noise()
	case Hostile:
		hostile()
	}
	return nil
}

// first reports whether url is met for the first time in the data folder. It
// writes down the meeting before it answers.
func (c *plugin) first(url string) bool {
	if c.env.DataDir == "" {
		return false
	}
	sum := sha256.Sum256([]byte(url))
	if err := os.MkdirAll(c.env.DataDir, 0o700); err != nil {
		return false
	}
	f, err := os.OpenFile(filepath.Join(c.env.DataDir, hex.EncodeToString(sum[:])), os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	return f.Close() == nil
}

func spin() {
	for i := 0; ; i++ {
		runtime.KeepAlive(i)
	}
}

// take keeps n bytes and writes to each page of them.
func (c *plugin) take(n int) {
	const step = 16 << 20
	for ; n > 0; n -= step {
		b := make([]byte, min(n, step))
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		c.mu.Lock()
		c.leaked = append(c.leaked, b)
		c.mu.Unlock()
	}
}

// fork starts a shell that starts another process, both of which sleep for ten
// minutes unless somebody ends them.
func (c *plugin) fork(ownSession bool) error {
	cmd := exec.Command("sh", "-c", "sleep 600 & sleep 600")
	if ownSession {
		detach(cmd)
	}
	if err := cmd.Start(); err != nil {
		return fault.New(fault.Permanent, fmt.Errorf("fork: %w", err))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.children = append(c.children, cmd)
	return nil
}

func noise() {
	for _, s := range []string{
		"plain words without a level", "\x00\x01\x02\xff\xfe\r\x1b[31mred\x1b[0m", "", strings.Repeat("long ", 200_000), "no newline at the end",
	} {
		fmt.Fprint(os.Stderr, s, "\n")
		fmt.Fprint(os.Stdout, s, "\n")
		writeStderr(s + "\n")
	}
	writeStderr("no newline")
}

// hostile writes log lines that are valid JSON and nothing that a reader of logs
// expects.
func hostile() {
	for _, s := range []string{
		`{"@message": 5}`, `{"@message": {"a": [1, 2]}, "@level": []}`, `{"@level": "trace", "@timestamp": 7}`, `{"@message": null, "@module": {}}`,
		`[]`, `{`, `"text"`, `null`, `{"@level": "panic", "@message": "x", "@timestamp": "yesterday"}`,
		strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000), `{"@message": "\ud800", "a": 1e999}`,
	} {
		writeStderr(s + "\n")
	}
}
