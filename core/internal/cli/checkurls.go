package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/crawl"
	"github.com/gonutch/crawler/sdk/extension/urlexemption"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/manifest"
)

func filterCheckerCommand() *command {
	return &command{
		name: "filterchecker", args: "(--stdin | URL…)", short: "Say what the URL filters make of URLs, and which rule decides", group: "Checkers", nutch: true,
		prepare: func(inv *invocation) func(context.Context, []string) error {
			f := checkFlags{points: []string{manifest.URLFilter, manifest.URLExemption}}
			f.register(inv.fs)
			inv.fs.StringVar(&f.plugin, "filter-name", "", "the same as --plugin")
			inv.fs.BoolVar(&f.steps, "v", false, "show every filter's verdict, not only the one that decides")
			return func(ctx context.Context, args []string) error {
				return inv.check(ctx, args, &f, func(ctx context.Context, c *crawl.Crawl, in *checkInput, out *checkOutput) error {
					if f.only[manifest.URLExemption] != "" && f.only[manifest.URLFilter] == "" {
						return checkBatches(ctx, in, out, func(ctx context.Context, lines []checkLine) error { return exemptLines(ctx, c.Chains, lines, out) })
					}
					return checkBatches(ctx, in, out, func(ctx context.Context, lines []checkLine) error {
						return filterLines(ctx, c.Chains, lines, out, f.steps)
					})
				})
			}
		},
	}
}

// scopes of the normalizers.
func scopes() []string {
	var out []string
	for _, s := range urlnormalizer.Scopes() {
		out = append(out, string(s))
	}
	return out
}

func normalizerCheckerCommand() *command {
	return &command{
		name: "normalizerchecker", args: "(--stdin | URL…)", short: "Print the normal form of URLs, and who changed what", group: "Checkers", nutch: true,
		prepare: func(inv *invocation) func(context.Context, []string) error {
			f := checkFlags{points: []string{manifest.URLNormalizer}}
			f.register(inv.fs)
			inv.fs.StringVar(&f.plugin, "normalizer", "", "the same as --plugin")
			inv.fs.BoolVar(&f.steps, "v", false, "show what each normalizer changed")
			scope := inv.fs.String("scope", string(urlnormalizer.ScopeDefault), "`SCOPE`: "+strings.Join(scopes(), ", "))
			return func(ctx context.Context, args []string) error {
				if !slices.Contains(scopes(), *scope) {
					return usagef("option --scope: there is no scope %q%s", *scope, meant(*scope, scopes()))
				}
				return inv.check(ctx, args, &f, func(ctx context.Context, c *crawl.Crawl, in *checkInput, out *checkOutput) error {
					return checkBatches(ctx, in, out, func(ctx context.Context, lines []checkLine) error {
						return normalizeLines(ctx, c.Chains, urlnormalizer.Scope(*scope), lines, out, f.steps)
					})
				})
			}
		},
	}
}

// urlCheck is the answer to one URL in JSON.
type urlCheck struct {
	URL      string       `json:"url"`
	Accepted *bool        `json:"accepted,omitempty"`
	Result   *string      `json:"result,omitempty"` // of normalizers; absent when dropped
	Plugin   string       `json:"plugin,omitempty"` // who decided
	Reason   string       `json:"reason,omitempty"`
	Error    string       `json:"error,omitempty"` // nothing could be decided
	Steps    []chain.Step `json:"steps,omitempty"`
}

// texts returns the lines that can be judged, and where each came from.
func texts(lines []checkLine) (where []int, urls []string) {
	for i, l := range lines {
		if !l.tooLong {
			where, urls = append(where, i), append(urls, l.text)
		}
	}
	return where, urls
}

func filterLines(ctx context.Context, c *chain.Chains, lines []checkLine, out *checkOutput, all bool) error {
	where, urls := texts(lines)
	steps, err := c.ExplainFilter(ctx, urls)
	if err != nil {
		return err
	}
	of := make([][]chain.Step, len(lines))
	for k, i := range where {
		of[i] = steps[k]
	}
	for i, l := range lines {
		a := urlCheck{URL: l.text, Error: l.problem(), Steps: of[i]}
		accepted := a.Error == ""
		for _, s := range of[i] {
			switch s.Verdict {
			case "error":
				accepted, a.Plugin, a.Error = false, s.Plugin, s.Reason
			case "dropped":
				accepted, a.Plugin, a.Reason = false, s.Plugin, s.Reason
			default:
				if s.Reason != "" {
					a.Plugin, a.Reason = s.Plugin, s.Reason
				}
			}
		}
		sign := "-"
		switch {
		case a.Error != "":
			sign = "!"
		default:
			a.Accepted = &accepted
			if accepted {
				sign = "+"
			}
		}
		if err := out.put(a, sign+visible(cutBytes(l.text))+"\t"+decided(&a, of[i], all), a.Error != ""); err != nil {
			return err
		}
	}
	return nil
}

// decided is the second column: who decided by what, or what everybody said.
func decided(a *urlCheck, steps []chain.Step, all bool) string {
	switch {
	case a.Error != "":
		return visible(a.Error) // it names the plugin
	case !all:
		return join(a.Plugin, a.Reason)
	}
	var parts []string
	for _, s := range steps {
		parts = append(parts, join(s.Plugin, s.Verdict, s.Reason))
	}
	return strings.Join(parts, "; ")
}

// join writes what is not empty, separated by colons.
func join(parts ...string) string {
	return visible(strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": "))
}

// cutBytes keeps the output of a line that is too long for its input short.
func cutBytes(s string) string {
	if len(s) < checkLineMax {
		return s
	}
	return s[:200] + "…"
}

// exemptLines asks an exemption filter about lines of two URLs: the page that
// links, and the target.
func exemptLines(ctx context.Context, c *chain.Chains, lines []checkLine, out *checkOutput) error {
	var pairs []urlexemption.Pair
	problems := make([]string, len(lines))
	for i, l := range lines {
		f := strings.Fields(l.text)
		if problems[i] = l.problem(); problems[i] == "" && len(f) != 2 {
			problems[i] = "want two URLs on the line: the page that links, and the target"
		}
		if problems[i] == "" {
			pairs = append(pairs, urlexemption.Pair{From: f[0], To: f[1]})
		}
	}
	exempt, err := c.Exempt(ctx, pairs)
	if err != nil {
		return err
	}
	k := 0
	for i, l := range lines {
		a, sign := urlCheck{URL: l.text, Error: problems[i]}, "!"
		if a.Error == "" {
			a.Accepted = &exempt[k]
			if sign = "-"; exempt[k] {
				sign = "+"
			}
			k++
		}
		if err := out.put(a, sign+visible(cutBytes(l.text))+"\t"+a.Error, a.Error != ""); err != nil {
			return err
		}
	}
	return nil
}

func normalizeLines(ctx context.Context, c *chain.Chains, scope urlnormalizer.Scope, lines []checkLine, out *checkOutput, all bool) error {
	where, urls := texts(lines)
	steps, err := c.ExplainNormalize(ctx, scope, urls)
	if err != nil {
		return err
	}
	of := make([][]chain.Step, len(lines))
	for k, i := range where {
		of[i] = steps[k]
	}
	for i, l := range lines {
		a := normalized(l, of[i])
		var text string
		switch {
		case a.Result != nil:
			text = visible(*a.Result)
		case a.Error != "":
			text = "\t" + visible(a.Error)
		default:
			text = "\t" + join(a.Plugin, "dropped", a.Reason)
		}
		if all && a.Result != nil {
			text += "\t" + changes(of[i])
		}
		if err := out.put(a, text, a.Error != ""); err != nil {
			return err
		}
	}
	return nil
}

func firstText(s ...string) string {
	i := slices.IndexFunc(s, func(s string) bool { return s != "" })
	return s[i]
}

func normalized(l checkLine, steps []chain.Step) urlCheck {
	a := urlCheck{URL: l.text, Error: l.problem(), Steps: steps}
	result := l.text
	for _, s := range steps {
		switch s.Verdict {
		case "error":
			a.Plugin, a.Error = s.Plugin, s.Reason
		case "dropped":
			a.Plugin, a.Reason = s.Plugin, firstText(s.Reason, "no reason given")
		}
		result = s.Out
	}
	if a.Error == "" && a.Plugin == "" {
		a.Result = &result
	}
	return a
}

// changes tells which normalizers changed the URL, and to what.
func changes(steps []chain.Step) string {
	var parts []string
	for _, s := range steps {
		if s.Verdict == "changed" {
			parts = append(parts, join(s.Plugin, s.Out))
		}
	}
	if len(parts) == 0 {
		return "unchanged"
	}
	return strings.Join(parts, "; ")
}
