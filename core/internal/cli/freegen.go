package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gonutch/crawler/core/internal/step/inject"
)

func freegenCommand() *command {
	return &command{
		name: "freegen", args: "LISTS…", short: "Make a segment of a list of URLs, due or not", group: "Single steps", nutch: true,
		prepare: func(inv *invocation) func(context.Context, []string) error {
			normalize := inv.fs.Bool("normalize", false, "bring the URLs into their normal form first")
			filter := inv.fs.Bool("filter", false, "leave out what the URL filters reject")
			skip := inv.fs.Bool("skip-invalid", false, "pass over what is no URL instead of failing")
			return func(ctx context.Context, args []string) error {
				if len(args) > 1 && inv.dir == "" && isDir(args[len(args)-1]) { // Nutch: <in_dir> <segments_dir>
					inv.positionalDir(args[len(args)-1])
					args = args[:len(args)-1]
				}
				if len(args) == 0 {
					return usagef("no URLs: name files, folders or URLs, in the form of a seed list")
				}
				return inv.freegen(ctx, args, inject.Options{NoNormalize: !*normalize, NoFilter: !*filter, SkipInvalid: *skip})
			}
		},
	}
}

// freeSegment is what "crawler freegen" tells.
type freeSegment struct {
	Segment string `json:"segment,omitempty"`
	inject.Report
}

func (inv *invocation) freegen(ctx context.Context, sources []string, o inject.Options) (err error) {
	cfg, err := inv.load()
	if err != nil {
		return err
	}
	ctx, cancel := inv.interruptible(ctx)
	defer cancel()
	list, err := inv.seeds(ctx, sources)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, list.Close()) }()
	s, err := inv.open(ctx, cfg, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	o.Progress = s.countingOf("freegen", "urls", list.Seeds())
	seg, rep, err := s.cycle.FreeGenerate(ctx, list, o)
	if err != nil {
		return err
	}
	if err := inv.print(freeSegment{seg, rep}, func(w io.Writer) { printFreeSegment(inv.app.Stderr, w, seg, &rep) }); err != nil {
		return err
	}
	if seg == "" {
		return errNothing
	}
	return nil
}

// printFreeSegment prints the segment like generate, and the rest apart from it.
func printFreeSegment(notes, w io.Writer, seg string, r *inject.Report) {
	if seg != "" {
		_, _ = fmt.Fprintln(w, seg) // as in table
	}
	_, _ = fmt.Fprintf(notes, "%s in its fetch list, %s of them new", plural(r.Listed, "URL"), number(r.Added))
	if r.Elsewhere > 0 {
		_, _ = fmt.Fprintf(notes, "; %s in the fetch lists of other segments already", number(r.Elsewhere))
	}
	if r.RejectedTotal > 0 {
		_, _ = fmt.Fprintf(notes, "; %s rejected", number(r.RejectedTotal))
	}
	_, _ = fmt.Fprintln(notes)
	printRejected(notes, r)
}
