package refilter

import (
	"cmp"
	"slices"

	"github.com/gonutch/crawler/core/internal/chain"
)

// Report says what became of the URLs of the CrawlDB, or would.
type Report struct {
	Applied   bool             `json:"applied"`
	Resumed   bool             `json:"resumed,omitempty"` // it went on where an earlier one was cut short
	URLs      int64            `json:"urls"`              // looked at
	Pending   int64            `json:"pending"`           // of them, found in pages and not added to the CrawlDB yet
	Removed   int64            `json:"removed"`
	Renamed   int64            `json:"renamed"`            // got another URL from the normalizers
	Merged    int64            `json:"merged"`             // of these, those whose new URL was known already
	Documents int64            `json:"documents"`          // of removed and renamed ones, those an index writer has
	Leased    int64            `json:"leased"`             // of these, those in a fetch list
	Failed    map[string]int64 `json:"failed,omitempty"`   // URLs that a plugin could not judge, by plugin; they stay
	Plugins   []Plugin         `json:"plugins,omitempty"`  // who removed how many, the most first
	Renames   []Rename         `json:"renames,omitempty"`  // samples
	Failures  []string         `json:"failures,omitempty"` // samples, with the error
}

// Plugin is a plugin that removed URLs.
type Plugin struct {
	Plugin string `json:"plugin"`
	URLs   int64  `json:"urls"`
	Rules  []Rule `json:"rules"`           // the most first; at most maxRules
	Other  int64  `json:"other,omitempty"` // URLs of rules that there is no room for
}

// Rule is one reason to remove URLs, for most plugins a rule and where it stands.
type Rule struct {
	Reason  string   `json:"reason"`
	URLs    int64    `json:"urls"`
	Samples []string `json:"samples,omitempty"`
}

// Rename is a URL that the normalizers change.
type Rename struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Merged bool   `json:"merged,omitempty"` // To was known already
}

// maxRules bounds the reasons kept for each plugin: some plugins name the URL in them.
const maxRules = 100

func (r *Report) removed(v chain.URLResult, url string, samples int) {
	r.Removed++
	i := slices.IndexFunc(r.Plugins, func(p Plugin) bool { return p.Plugin == v.Plugin })
	if i < 0 {
		i = len(r.Plugins)
		r.Plugins = append(r.Plugins, Plugin{Plugin: v.Plugin})
	}
	p := &r.Plugins[i]
	p.URLs++
	k := slices.IndexFunc(p.Rules, func(r Rule) bool { return r.Reason == v.Reason })
	if k < 0 {
		if len(p.Rules) == maxRules {
			p.Other++
			return
		}
		k = len(p.Rules)
		p.Rules = append(p.Rules, Rule{Reason: v.Reason})
	}
	p.Rules[k].URLs++
	if len(p.Rules[k].Samples) < samples {
		p.Rules[k].Samples = append(p.Rules[k].Samples, url)
	}
}

func (r *Report) renamed(from, to string, merged bool, samples int) {
	r.Renamed++
	if merged {
		r.Merged++
	}
	if len(r.Renames) < samples {
		r.Renames = append(r.Renames, Rename{From: from, To: to, Merged: merged})
	}
}

func (r *Report) failed(v chain.URLResult, url string, samples int) {
	if r.Failed == nil {
		r.Failed = map[string]int64{}
	}
	r.Failed[v.Plugin]++
	if len(r.Failures) < samples {
		r.Failures = append(r.Failures, url+": "+v.Err.Error())
	}
}

// sort puts what removed most first.
func (r *Report) sort() {
	slices.SortStableFunc(r.Plugins, func(a, b Plugin) int { return cmp.Compare(b.URLs, a.URLs) })
	for _, p := range r.Plugins {
		slices.SortStableFunc(p.Rules, func(a, b Rule) int { return cmp.Compare(b.URLs, a.URLs) })
	}
}
