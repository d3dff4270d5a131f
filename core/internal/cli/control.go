package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/gonutch/crawler/core/internal/control"
	"github.com/gonutch/crawler/core/internal/cycle"
	"github.com/gonutch/crawler/core/internal/query"
	"github.com/gonutch/crawler/sdk/fault"
)

// serve answers other commands' questions about the open crawl until stop is
// called, which must be before the crawl is closed. Without the socket work goes
// on: others are told who holds the crawl. opensIndex is query.Source.OpensIndex.
func (s *session) serve(ctx context.Context, work query.Running, opensIndex bool) (stop func()) {
	srv, err := control.Serve(ctx, s.crawl.Dir, query.Verbs(s.crawl, work, opensIndex), control.Options{
		Command: "crawler " + s.inv.cmd, Version: s.inv.app.Version, Log: s.log.Named("control"),
	})
	if err != nil {
		s.log.Warn("other commands can't reach this crawl", "error", err)
		return func() {}
	}
	return func() {
		if err := srv.Close(); err != nil {
			s.log.Warn("end the control socket", "error", err)
		}
	}
}

// runningState is what "crawler status" tells.
type runningState struct {
	Running bool           `json:"running"`
	Process *control.Hello `json:"process,omitempty"`
	*query.StatusAnswer
}

func statusCommand() *command {
	return &command{
		name: "status", short: "Show what the running crawl does", group: "Crawling",
		prepare: func(inv *invocation) func(context.Context, []string) error {
			follow := inv.fs.Bool("follow", false, "go on showing it until the crawl ends")
			return func(ctx context.Context, args []string) error {
				if len(args) > 0 {
					return usagef("unexpected argument %q", args[0])
				}
				return inv.running(ctx, func(c *control.Client) error {
					if *follow {
						return inv.follow(ctx, c)
					}
					return inv.status(ctx, c)
				})
			}
		},
	}
}

// running calls f with the process that has the crawl open. Without one it says
// so and the command ends with ExitNothing.
func (inv *invocation) running(ctx context.Context, f func(*control.Client) error) error {
	cfg, err := inv.load()
	if err != nil {
		return err
	}
	err = served(ctx, cfg.String("crawl.dir"), f)
	if errors.Is(err, control.ErrNotRunning) {
		err := inv.print(runningState{}, func(w io.Writer) {
			_, _ = fmt.Fprintf(w, "no crawl is running in %s\n", cfg.String("crawl.dir")) // as in table
		})
		return errors.Join(errNothing, err)
	}
	return err
}

func (inv *invocation) status(ctx context.Context, c *control.Client) error {
	a, err := query.Ask(ctx, query.Target{Client: c}, query.Status(), query.StatusQuery{})
	if err != nil {
		return err
	}
	hello := c.Hello()
	return inv.print(runningState{true, &hello, &a}, func(w io.Writer) { writeStatus(w, hello, &a, time.Now()) })
}

func writeStatus(w io.Writer, h control.Hello, a *query.StatusAnswer, now time.Time) {
	out := table{w: w, width: 14}
	out.line("%s, process %d, for %s (since %s)", h.Command, h.PID, span(now.Sub(h.Since)), moment(h.Since))
	if !a.Working {
		out.line("it only answers questions")
		return
	}
	p := &a.Progress
	elapsed := now.Sub(h.Since)
	r := rate{}
	if s := elapsed.Seconds(); s >= 1 {
		r = rate{float64(p.Report.Fetched) / s, float64(p.Report.Bytes) / s}
	}
	for _, line := range progressLines(p, r, elapsed, 200) {
		out.line("%s", line)
	}
	for _, b := range p.Busiest {
		verb := "wait"
		if b.Queued == 1 {
			verb = "waits"
		}
		out.line("  %s %s on %s", plural(int64(b.Queued), "URL"), verb, printable(b.Host))
	}
}

// follow shows the running crawl's progress as its own terminal does.
func (inv *invocation) follow(ctx context.Context, c *control.Client) error {
	out := newLineWriter(inv.app.Stdout, inv.app.Terminal && !inv.json)
	every := time.Second
	if out.terminal {
		every = redrawEvery
	}
	m, since := newMeter(rateWindow), c.Hello().Since
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-inv.app.Interrupts:
			cancel()
		case <-ctx.Done():
		}
	}()
	err := query.Watch(ctx, c, every, func(p cycle.Progress) error {
		now := time.Now()
		r := m.rate(now, p.Report.Fetched, p.Report.Bytes)
		switch {
		case inv.json:
			return inv.printLine(p)
		case out.terminal:
			out.show(progressLines(&p, r, now.Sub(since), out.columns()-1)...)
		default:
			_, err := fmt.Fprintln(out, progressLine(&p, r, now.Sub(since)))
			return err
		}
		return nil
	})
	out.clear()
	switch {
	case errors.Is(err, context.Canceled):
		return nil // by Ctrl-C: the crawl goes on
	case err == nil || fault.Is(err, fault.Shutdown):
		if !inv.json {
			_, _ = fmt.Fprintln(inv.app.Stdout, "the crawl has ended") // as in table
		}
		return nil
	}
	return err
}

func stopCommand() *command {
	return &command{
		name: "stop", short: "Let the running crawl finish what is under way, and end", group: "Crawling",
		prepare: func(inv *invocation) func(context.Context, []string) error {
			wait := inv.fs.Bool("wait", false, "wait until it has ended")
			return func(ctx context.Context, args []string) error {
				if len(args) > 0 {
					return usagef("unexpected argument %q", args[0])
				}
				return inv.running(ctx, func(c *control.Client) error { return inv.stop(ctx, c, *wait) })
			}
		},
	}
}

func (inv *invocation) stop(ctx context.Context, c *control.Client, wait bool) error {
	a, err := query.Ask(ctx, query.Target{Client: c}, query.Stop(), query.StopQuery{})
	if err != nil {
		return err
	}
	pid := c.Hello().PID
	if wait {
		if err := waitForEnd(ctx, pid); err != nil {
			return err
		}
	}
	return inv.print(a, func(w io.Writer) {
		text := "process %d finishes what is under way and ends; the same command goes on later\n"
		if wait {
			text = "process %d has ended\n"
		}
		_, _ = fmt.Fprintf(w, text, pid) // as in table
	})
}

// waitForEnd waits until there is no process pid, or only what its parent has not taken notice of.
func waitForEnd(ctx context.Context, pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return nil // there is none
	}
	t := time.NewTicker(50 * time.Millisecond)
	defer t.Stop()
	for p.Signal(syscall.Signal(0)) == nil && !zombie(pid) {
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// zombie reports whether a process has ended and is still listed; false where there is no /proc.
func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, ok := strings.Cut(string(b[bytes.LastIndexByte(b, ')')+1:]), " ")
	return ok && strings.HasPrefix(state, "Z")
}

// printLine writes v as one line of JSON.
func (inv *invocation) printLine(p cycle.Progress) error {
	return json.NewEncoder(inv.app.Stdout).Encode(p)
}
