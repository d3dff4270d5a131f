package parseext

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/gonutch/crawler/plugins/internal/libparse"
	"github.com/gonutch/crawler/sdk/model"
)

// maxComplaint bounds what is kept of a program's standard error.
const maxComplaint = 1 << 10

// run gives the document to the program and returns at most limit bytes of what it
// writes; cut says that there was more. The program runs in a process group of its own,
// which is killed when it ends, whatever of it is left, when it takes too long or
// writes too much.
func (g *program) run(ctx context.Context, c *model.Content, limit int) (out []byte, cut bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, g.TimeLimit.D())
	defer cancel()
	cmd := exec.CommandContext(ctx, g.Command[0], g.args(c)...) //nolint:gosec // the user's own program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	kill := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = kill
	cmd.WaitDelay = time.Second // for output that a grandchild holds open
	cmd.Stdin = bytes.NewReader(c.Body)
	stdout := &bounded{limit: limit, full: cancel}
	complaint := &bounded{limit: maxComplaint}
	cmd.Stdout, cmd.Stderr = stdout, complaint
	cmd.Env = append(os.Environ(), "CRAWLER_URL="+noNUL(c.URL), "CRAWLER_TYPE="+noNUL(c.MIMEType))
	if err := cmd.Start(); err != nil {
		return nil, false, err
	}
	err = cmd.Wait()
	_ = kill() // what it has started
	var exit *exec.ExitError
	switch {
	case stdout.over:
		return stdout.buf, true, nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, false, fmt.Errorf("took longer than %s", g.TimeLimit.D())
	case errors.As(err, &exit):
		return nil, false, fmt.Errorf("%s%s", exit.ProcessState, complaint.says())
	case err != nil && !errors.Is(err, exec.ErrWaitDelay) && !errors.Is(err, syscall.EPIPE): // it need not read all
		return nil, false, err
	}
	return stdout.buf, false, nil
}

// args fills in the program's arguments.
func (g *program) args(c *model.Content) []string {
	r := strings.NewReplacer("{type}", noNUL(c.MIMEType), "{url}", noNUL(c.URL))
	out := make([]string, 0, len(g.Command))
	for _, a := range g.Command[1:] {
		out = append(out, r.Replace(a))
	}
	return out
}

func noNUL(s string) string { return strings.ReplaceAll(s, "\x00", "") }

// bounded keeps the first limit bytes written to it and then calls full, once.
type bounded struct {
	buf   []byte
	limit int
	over  bool
	full  func()
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.limit - len(b.buf)
	b.buf = append(b.buf, p[:min(len(p), room)]...)
	if len(p) > room && !b.over {
		b.over = true
		if b.full != nil {
			b.full()
		}
	}
	return len(p), nil
}

// says returns the text as the end of a message.
func (b *bounded) says() string {
	if s := libparse.Clean(string(b.buf)); s != "" {
		return ": " + s
	}
	return ""
}
