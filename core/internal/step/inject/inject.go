package inject

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/transition"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/model"
)

// Plugins are the chains that injection needs; chain.Chains has them.
type Plugins interface {
	NormalizeFilter(ctx context.Context, scope urlnormalizer.Scope, urls []string) ([]chain.URLResult, error)
	Injected(ctx context.Context, in []scoring.InjectInput) ([]model.Fields, []error, error)
}

// Options say how seeds are injected.
type Options struct {
	Mode        transition.InjectMode
	Rules       transition.Rules
	SkipInvalid bool // pass over seeds that are no URLs instead of failing
	Now         time.Time
}

// Rejected is a seed that was not injected.
type Rejected struct {
	URL    string `json:"url"`
	Where  string `json:"where"`
	Plugin string `json:"plugin"`
	Reason string `json:"reason"`
}

// Report says what became of the seeds.
type Report struct {
	Seeds       int        `json:"seeds"`
	Added       int        `json:"added"`
	Updated     int        `json:"updated"`
	Overwritten int        `json:"overwritten"`
	Ignored     int        `json:"ignored"` // known already
	Rejected    []Rejected `json:"rejected,omitempty"`
}

// schemeHint says what to write instead of a seed without a scheme.
func schemeHint(seed string) string {
	with := "https://" + strings.TrimLeft(seed, "/")
	if u, err := url.Parse(with); strings.Contains(seed, ":") || err != nil || !strings.Contains(u.Host, ".") {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", with)
}

// Run injects seeds in one atomic change: all of them or, on an error, none.
func Run(ctx context.Context, db *crawldb.DB, plugins Plugins, seeds []Seed, o Options) (Report, error) {
	rep := Report{Seeds: len(seeds)}
	accepted, err := judge(ctx, plugins, seeds, o, &rep)
	if err != nil {
		return rep, err
	}
	if len(accepted) == 0 {
		if len(seeds) == 1 {
			return rep, fmt.Errorf("the seed can't be injected:\n%s", list(rep.Rejected))
		}
		return rep, fmt.Errorf("none of the %d seeds can be injected:\n%s", len(seeds), list(rep.Rejected))
	}
	if err := score(ctx, plugins, accepted, o.Rules.InjectedScore); err != nil {
		return rep, err
	}
	err = db.Update(ctx, func(tx *crawldb.Tx) error {
		rep.Added, rep.Updated, rep.Overwritten, rep.Ignored = 0, 0, 0, 0
		for i := range accepted {
			if err := put(tx, &accepted[i], o, &rep); err != nil {
				return fmt.Errorf("%s: inject %s: %w", accepted[i].Where, accepted[i].URL, err)
			}
		}
		return nil
	})
	return rep, err
}

// judge normalizes and filters the seeds.
func judge(ctx context.Context, plugins Plugins, seeds []Seed, o Options, rep *Report) ([]Seed, error) {
	urls := make([]string, len(seeds))
	for i := range seeds {
		urls[i] = seeds[i].URL
	}
	results, err := plugins.NormalizeFilter(ctx, urlnormalizer.ScopeInject, urls)
	if err != nil {
		return nil, err
	}
	var errs []error
	accepted := make([]Seed, 0, len(seeds))
	for i, r := range results {
		s := seeds[i]
		switch {
		case r.Err != nil:
			errs = append(errs, fmt.Errorf("%s: seed %s: %w", s.Where, s.URL, r.Err))
		case r.Dropped:
			rep.Rejected = append(rep.Rejected, Rejected{URL: s.URL, Where: s.Where, Plugin: r.Plugin, Reason: r.Reason})
			if u, err := url.Parse(s.URL); (err != nil || u.Scheme == "" || u.Host == "" && u.Scheme != "file") && !o.SkipInvalid {
				errs = append(errs, fmt.Errorf("%s: seed %q is no URL that can be fetched: %s (%s)%s", s.Where, s.URL, r.Reason, r.Plugin, schemeHint(s.URL)))
			}
		default:
			s.URL = r.URL
			accepted = append(accepted, s)
		}
	}
	if len(errs) > 20 {
		errs = append(errs[:20], fmt.Errorf("and %d more", len(errs)-20))
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("nothing was injected:\n%w", errors.Join(errs...))
	}
	return accepted, nil
}

func list(rejected []Rejected) string {
	var b strings.Builder
	for i, r := range rejected {
		if i == 20 {
			fmt.Fprintf(&b, "  and %d more\n", len(rejected)-20)
			break
		}
		fmt.Fprintf(&b, "  %s: %s: %s (%s)\n", r.Where, r.URL, r.Reason, r.Plugin)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func score(ctx context.Context, plugins Plugins, seeds []Seed, standard int64) error {
	in := make([]scoring.InjectInput, len(seeds))
	for i := range seeds {
		in[i] = scoring.InjectInput{URL: seeds[i].URL, Score: seeds[i].Score, Metadata: seeds[i].Metadata}
		if !seeds[i].ScoreSet {
			in[i].Score = standard
		}
	}
	fields, perItem, err := plugins.Injected(ctx, in)
	if err != nil {
		return fmt.Errorf("score seeds: %w", err)
	}
	for i := range seeds {
		if perItem != nil && perItem[i] != nil {
			return fmt.Errorf("%s: score seed %s: %w", seeds[i].Where, seeds[i].URL, perItem[i])
		}
		seeds[i].Fields = fields[i]
	}
	return nil
}

func put(tx *crawldb.Tx, s *Seed, o Options, rep *Report) error {
	key := urlkey.FromURL(s.URL)
	rec, err := tx.Get(key)
	if err != nil {
		return err
	}
	var old *model.CrawlDatum
	if rec != nil {
		old = &rec.Datum
	}
	d, did := transition.Inject(old, s.Seed, o.Mode, o.Now, o.Rules)
	switch did {
	case transition.SeedAdded:
		rep.Added++
		rec = &crawldb.Record{Sort: d.Score}
	case transition.SeedUpdated:
		rep.Updated++
	case transition.SeedOverwritten:
		rep.Overwritten++
	case transition.SeedIgnored:
		rep.Ignored++
	}
	if hp := Private(s.URL); hp != "" {
		tx.Tx.Set(store.Key(store.PrefixMeta, allowPrefix+hp), nil)
	}
	if did == transition.SeedIgnored {
		return nil
	}
	rec.Datum = d
	tx.Put(key, rec)
	tx.Rescore(key)
	return nil
}

const allowPrefix = "allow_private."

// Private returns host:port of a URL that names an address or localhost, else "":
// a URL that the user gives so may be fetched although the address is not public.
func Private(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	if _, err := netip.ParseAddr(u.Hostname()); err != nil && !strings.EqualFold(u.Hostname(), "localhost") {
		return ""
	}
	return urlkey.HostPort(rawURL)
}

// AllowPrivate returns the host:port pairs that seeds opened for themselves.
func AllowPrivate(ctx context.Context, s *store.Store) (map[string]bool, error) {
	allow := map[string]bool{}
	prefix := store.Key(store.PrefixMeta, allowPrefix)
	err := store.Each(ctx, s, prefix, func(k, _ []byte) error {
		allow[string(k[len(prefix):])] = true
		return nil
	})
	return allow, err
}
