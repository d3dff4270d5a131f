package cli

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/gonutch/crawler/core/internal/query"
	"github.com/gonutch/crawler/sdk/extension/searcher"
)

func searchCommand() *command {
	return &command{
		name: "search", args: "WORDS…", short: "Search the index", group: "Crawling",
		prepare: func(inv *invocation) func(context.Context, []string) error {
			var q query.SearchQuery
			var facets multi
			inv.fs.IntVar(&q.Limit, "limit", 10, "hits to show")
			inv.fs.IntVar(&q.Offset, "offset", 0, "hits to skip")
			inv.fs.Var(&facets, "facet", "count the values of `FIELD`; repeatable")
			inv.fs.StringVar(&q.Writer, "writer", "", "`NAME` of the index_writer to ask (default: the first that can be searched)")
			return func(ctx context.Context, args []string) error {
				switch q.Text = strings.Join(args, " "); {
				case strings.TrimSpace(q.Text) == "":
					return usagef("say what to search for: crawler search WORDS; \"*\" finds everything")
				case q.Limit < 1:
					return usagef("option --limit: want at least 1")
				case q.Offset < 0:
					return usagef("option --offset: want 0 or more")
				case strings.TrimSpace(q.Text) == "*":
					q.Text = ""
				}
				q.Facets = facets
				return inv.search(ctx, q)
			}
		},
	}
}

func (inv *invocation) search(ctx context.Context, q query.SearchQuery) error {
	return inv.read(ctx, func(ctx context.Context, t query.Target) error {
		a, err := query.Ask(ctx, t, query.Search(), q)
		if err != nil {
			return err
		}
		return inv.print(a, func(w io.Writer) { writeHits(w, a, q.Offset, inv.bold()) })
	})
}

// bold reports whether standard output shows bold text.
func (inv *invocation) bold() bool {
	return inv.app.StdoutTerminal && !slices.ContainsFunc(inv.app.Environ, func(e string) bool {
		return strings.HasPrefix(e, "NO_COLOR=") && e != "NO_COLOR=" || e == "TERM=dumb"
	})
}

func writeHits(w io.Writer, a *query.SearchAnswer, offset int, bold bool) {
	out := table{w: w}
	for i := range a.Hits {
		h := &a.Hits[i]
		title := h.ID
		if s := first(h.Snippets["title"]); s != "" {
			title = s
		} else if s := first(h.Fields["title"]); s != "" {
			title = s
		}
		out.line("%d. %s", offset+i+1, highlight(title, bold))
		out.line("   %s", printable(h.ID))
		if s := snippet(h); s != "" {
			out.line("   %s", highlight(s, bold))
		}
		out.line("")
	}
	writeFacets(&out, a.Facets)
	switch n := len(a.Hits); {
	case a.Total == 0:
		out.line("no results (%s)", span(a.Took))
	case n == 0:
		out.line("no results after the first %s (%s)", number(int64(a.Total)), span(a.Took)) //nolint:gosec // documents are fewer
	default:
		out.line("%d to %d of %s (%s)", offset+1, offset+n, plural(int64(a.Total), "result"), span(a.Took)) //nolint:gosec // documents are fewer
	}
}

func first(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return strings.TrimSpace(s[0])
}

// snippet is where the words were found, title aside: at most two places.
func snippet(h *searcher.Hit) string {
	fields := slices.SortedFunc(maps.Keys(h.Snippets), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	for _, f := range fields {
		if s := h.Snippets[f]; f != "title" && len(s) > 0 {
			return strings.Join(s[:min(len(s), 2)], " … ")
		}
	}
	return ""
}

func rank(field string) int {
	if field == "content" {
		return 0
	}
	return 1
}

// highlight writes a text whose matches stand between \x01 and \x02, the
// matches in bold. White space is collapsed.
func highlight(s string, bold bool) string {
	var b strings.Builder
	on := false
	for _, r := range strings.Join(strings.FieldsFunc(s, isSpace), " ") {
		switch {
		case r == 1 && bold && !on:
			b.WriteString("\x1b[1m")
			on = true
		case r == 2 && on:
			b.WriteString("\x1b[0m")
			on = false
		default:
			b.WriteString(printable(string(r)))
		}
	}
	if on {
		b.WriteString("\x1b[0m")
	}
	return b.String()
}

func isSpace(r rune) bool { return r == ' ' || r == '\n' || r == '\r' || r == '\t' || r == '\u00a0' }

func writeFacets(out *table, facets map[string][]searcher.FacetValue) {
	for _, f := range slices.Sorted(maps.Keys(facets)) {
		out.line("%s:", printable(f))
		if len(facets[f]) == 0 {
			out.line("  (none)")
		}
		for i, v := range facets[f] {
			if i == 10 {
				out.line("  and %d more", len(facets[f])-10)
				break
			}
			out.line("  %6s  %s", number(v.Count), printable(v.Value))
		}
		out.line("")
	}
}
