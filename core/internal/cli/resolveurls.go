package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/gonutch/crawler/core/internal/checker"
	"github.com/gonutch/crawler/core/internal/step/inject"
)

func resolveURLsCommand() *command {
	return &command{
		name: "resolveurls", args: "LISTS…", short: "Look up the hosts of a list of URLs", group: "Checkers", nutch: true,
		prepare: func(inv *invocation) func(context.Context, []string) error {
			var lists multi
			inv.fs.Var(&lists, "urls", "`FILE`, folder, URL or - with URLs or hosts; repeatable")
			threads := inv.fs.Int("threads", 50, "look-ups at once")
			inv.fs.IntVar(threads, "num-threads", 50, "the same, as Nutch has it")
			timeout := inv.fs.Duration("timeout", 10*time.Second, "for one look-up")
			failed := inv.fs.Bool("failed", false, "print only hosts that could not be resolved")
			return func(ctx context.Context, args []string) error {
				sources := append(lists, args...)
				switch {
				case len(sources) == 0:
					return usagef("no URLs: name files, folders or URLs")
				case *threads < 1 || *threads > 10_000:
					return usagef("--threads %d: want 1 to 10000", *threads)
				case *timeout <= 0:
					return usagef("--timeout %v: want more", *timeout)
				}
				return inv.resolve(ctx, sources, *threads, *timeout, *failed)
			}
		},
	}
}

func (inv *invocation) resolve(ctx context.Context, sources []string, threads int, timeout time.Duration, failed bool) (err error) {
	ctx, cancel := inv.interruptible(ctx)
	defer cancel()
	list, err := inject.Open(sources, inv.app.Stdin)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, list.Close()) }()
	w := bufio.NewWriter(inv.app.Stdout)
	enc := json.NewEncoder(w)
	each := func(f func(string) error) error {
		return list.Each(ctx, func(s inject.Seed) error { return f(s.URL) })
	}
	said := time.Now()
	hosts := int64(0)
	rep, err := checker.Resolve(ctx, net.DefaultResolver, each, threads, timeout, func(r checker.Resolved) error {
		if hosts++; time.Since(said) > 5*time.Second {
			said = time.Now()
			fmt.Fprintf(inv.app.Stderr, "%s so far\n", plural(hosts, "host"))
		}
		switch {
		case failed && r.Error == "":
			return nil
		case inv.json:
			return enc.Encode(r)
		case r.Error != "":
			_, err := fmt.Fprintf(w, "failed\t%s\t%dms\t%s\n", printable(r.Host), r.Millis, printable(r.Error))
			return err
		}
		_, err := fmt.Fprintf(w, "ok\t%s\t%dms\t%s\n", printable(r.Host), r.Millis, addresses(r.Addresses))
		return err
	})
	if err = errors.Join(err, w.Flush()); err != nil {
		return err
	}
	if inv.json {
		err = enc.Encode(rep)
		err = errors.Join(err, w.Flush())
	} else {
		writeResolved(inv.app.Stderr, &rep)
	}
	switch {
	case err != nil:
		return err
	case rep.Hosts == 0:
		return errNothing
	case rep.Resolved < rep.Hosts:
		return fmt.Errorf("%s could not be resolved", plural(rep.Hosts-rep.Resolved, "host"))
	}
	return nil
}

func addresses[A fmt.Stringer](list []A) string {
	var s string
	for i, a := range list {
		if i > 0 {
			s += " "
		}
		s += a.String()
	}
	return s
}

func writeResolved(w io.Writer, r *checker.ResolveReport) {
	_, _ = fmt.Fprintf(w, "%s, %s: %s resolved", plural(r.URLs, "URL"), plural(r.Hosts, "host"), number(r.Resolved)) // as in table
	if n := total(r.Failed); n > 0 {
		_, _ = fmt.Fprintf(w, ", %s failed (%s)", number(n), counts(r.Failed, 10))
	}
	if r.NoHost > 0 {
		_, _ = fmt.Fprintf(w, ", %s without a host", number(r.NoHost))
	}
	_, _ = fmt.Fprintf(w, "; %s a look-up, the slowest %s, all %s\n", span(r.Average), span(r.Slowest), span(r.Elapsed))
}
