package inject

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
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
	chain.URLChain
	Injected(ctx context.Context, in []scoring.InjectInput) ([]model.Fields, []error, error)
}

// Options say how seeds are injected.
type Options struct {
	Mode        transition.InjectMode
	Rules       transition.Rules
	SkipInvalid bool // pass over seeds that are no URLs instead of failing
	NoNormalize bool
	NoFilter    bool
	Now         time.Time
	// Segment, when set, gets the seeds as its fetch list, known ones too, whenever they are due.
	Segment string
	// Progress, when set, is told how many seeds are done.
	Progress func(seeds int64)
}

// Rejected is a seed that was not injected.
type Rejected struct {
	URL    string `json:"url"`
	Where  string `json:"where"`
	Plugin string `json:"plugin"`
	Reason string `json:"reason"`
}

// maxRejected bounds the rejected seeds that a Report names.
const maxRejected = 100

// Report says what became of the seeds.
type Report struct {
	Seeds         int64      `json:"seeds"`
	Added         int64      `json:"added"`
	Updated       int64      `json:"updated"`
	Overwritten   int64      `json:"overwritten"`
	Ignored       int64      `json:"ignored"`             // known already
	Listed        int64      `json:"listed,omitempty"`    // in the fetch list of Options.Segment
	Elsewhere     int64      `json:"elsewhere,omitempty"` // not there, as another segment's fetch list has them
	RejectedTotal int64      `json:"rejected_total"`
	Rejected      []Rejected `json:"rejected,omitempty"` // the first ones
}

func (r *Report) reject(x Rejected) {
	if r.RejectedTotal++; len(r.Rejected) < maxRejected {
		r.Rejected = append(r.Rejected, x)
	}
}

// schemeHint says what to write instead of a seed without a scheme.
func schemeHint(seed string) string {
	with := "https://" + strings.TrimLeft(seed, "/")
	if u, err := url.Parse(with); strings.Contains(seed, ":") || err != nil || !strings.Contains(u.Host, ".") {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", with)
}

// batchSeeds bounds the seeds that are held and committed together.
const batchSeeds = 5000

var errMore = errors.New("there are more")

// Run injects seeds. The whole list is looked through first: when it has faults, nothing is
// injected. A list of up to batchSeeds is injected in one atomic change, a longer one in
// batches, so that memory does not grow with it; one that is cut short is injected whole when
// it is run again.
func Run(ctx context.Context, db *crawldb.DB, plugins Plugins, list List, o Options) (Report, error) {
	r := &run{db: db, plugins: plugins, o: o}
	err := list.Each(ctx, func(s Seed) error {
		if len(r.batch) == batchSeeds {
			return errMore
		}
		r.batch = append(r.batch, s)
		return nil
	})
	long := errors.Is(err, errMore)
	if long {
		r.batch = r.batch[:0]
		err = r.check(ctx, list)
	}
	if err == nil && long {
		err = list.Each(ctx, func(s Seed) error {
			if r.batch = append(r.batch, s); len(r.batch) < batchSeeds {
				return nil
			}
			return r.flush(ctx)
		})
	}
	if err == nil {
		err = r.flush(ctx)
	}
	rep := r.rep
	switch {
	case err != nil:
		if done := rep.Added + rep.Updated + rep.Overwritten; done > 0 {
			err = fmt.Errorf("%w\nof %d seeds before it, %d were injected; run the same command again for the rest", err, rep.Seeds, done)
		}
	case rep.RejectedTotal == rep.Seeds && rep.Seeds == 1:
		err = fmt.Errorf("the seed can't be injected:\n%s", told(&rep))
	case rep.RejectedTotal == rep.Seeds && rep.Seeds > 0:
		err = fmt.Errorf("none of the %d seeds can be injected:\n%s", rep.Seeds, told(&rep))
	}
	return rep, err
}

// run is one Run.
type run struct {
	db      *crawldb.DB
	plugins Plugins
	o       Options
	rep     Report
	batch   []Seed
}

// check reads a long list for its faults: what is no URL is judged as it will be later.
func (r *run) check(ctx context.Context, list List) error {
	if r.o.SkipInvalid {
		return list.Each(ctx, func(Seed) error { return nil })
	}
	err := list.Each(ctx, func(s Seed) error {
		if isURL(s.URL) {
			return nil
		}
		if r.batch = append(r.batch, s); len(r.batch) < batchSeeds {
			return nil
		}
		return r.checkBatch(ctx)
	})
	if err == nil {
		err = r.checkBatch(ctx)
	}
	return err
}

func (r *run) checkBatch(ctx context.Context) error {
	_, err := r.judge(ctx, &Report{})
	r.batch = r.batch[:0]
	return err
}

// flush injects the batch in one change.
func (r *run) flush(ctx context.Context) error {
	if len(r.batch) == 0 {
		return nil
	}
	rep := r.rep
	rep.Rejected = slices.Clone(rep.Rejected)
	rep.Seeds += int64(len(r.batch))
	accepted, err := r.judge(ctx, &rep)
	if err == nil {
		err = r.score(ctx, accepted)
	}
	if err != nil {
		return err
	}
	judged := rep
	err = r.db.Update(ctx, func(tx *crawldb.Tx) error {
		rep = judged
		keys := make([]urlkey.Key, len(accepted))
		for i := range accepted {
			keys[i] = urlkey.FromURL(accepted[i].URL)
		}
		if err := tx.Load(keys); err != nil {
			return err
		}
		for i := range accepted {
			if err := r.put(tx, keys[i], &accepted[i], &rep); err != nil {
				return fmt.Errorf("%s: inject %s: %w", accepted[i].Where, accepted[i].URL, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.rep, r.batch = rep, r.batch[:0]
	if r.o.Progress != nil {
		r.o.Progress(rep.Seeds)
	}
	return nil
}

// isURL reports whether a seed looks like what can be fetched.
func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme != "" && (u.Host != "" || u.Scheme == "file")
}

// ask runs the chains that are wanted over urls.
func (r *run) ask(ctx context.Context, urls []string) ([]chain.URLResult, error) {
	out, err := chain.Judge(ctx, r.plugins, urlnormalizer.ScopeInject, !r.o.NoNormalize, !r.o.NoFilter, urls)
	if err == nil && r.o.NoNormalize && r.o.NoFilter {
		for i, u := range urls {
			out[i] = chain.URLResult{URL: u, Dropped: !isURL(u), Plugin: "no plugin", Reason: "no URL"}
		}
	}
	return out, err
}

// judge normalizes and filters the batch.
func (r *run) judge(ctx context.Context, rep *Report) ([]Seed, error) {
	urls := make([]string, len(r.batch))
	for i := range r.batch {
		urls[i] = r.batch[i].URL
	}
	results, err := r.ask(ctx, urls)
	if err != nil {
		return nil, err
	}
	var errs []error
	accepted := make([]Seed, 0, len(urls))
	for i, x := range results {
		s := r.batch[i]
		switch {
		case x.Err != nil:
			errs = append(errs, fmt.Errorf("%s: seed %s: %w", s.Where, s.URL, x.Err))
		case x.Dropped:
			rep.reject(Rejected{URL: s.URL, Where: s.Where, Plugin: x.Plugin, Reason: x.Reason})
			if !isURL(s.URL) && !r.o.SkipInvalid {
				errs = append(errs, fmt.Errorf("%s: seed %q is no URL that can be fetched: %s (%s)%s", s.Where, s.URL, x.Reason, x.Plugin, schemeHint(s.URL)))
			}
		default:
			s.URL = x.URL
			accepted = append(accepted, s)
		}
	}
	if len(errs) > 20 {
		errs = append(errs[:20], fmt.Errorf("and %d more", len(errs)-20))
	}
	if len(errs) > 0 && r.rep.Seeds == 0 {
		return nil, fmt.Errorf("nothing was injected:\n%w", errors.Join(errs...))
	}
	return accepted, errors.Join(errs...)
}

func told(rep *Report) string {
	var b strings.Builder
	for i, r := range rep.Rejected {
		if i == 20 {
			fmt.Fprintf(&b, "  and %d more\n", rep.RejectedTotal-20)
			break
		}
		fmt.Fprintf(&b, "  %s: %s: %s (%s)\n", r.Where, r.URL, r.Reason, r.Plugin)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (r *run) score(ctx context.Context, seeds []Seed) error {
	if len(seeds) == 0 {
		return nil
	}
	in := make([]scoring.InjectInput, len(seeds))
	for i := range seeds {
		in[i] = scoring.InjectInput{URL: seeds[i].URL, Score: seeds[i].Score, Metadata: seeds[i].Metadata}
		if !seeds[i].ScoreSet {
			in[i].Score = r.o.Rules.InjectedScore
		}
	}
	fields, perItem, err := r.plugins.Injected(ctx, in)
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

func (r *run) put(tx *crawldb.Tx, key urlkey.Key, s *Seed, rep *Report) error {
	rec, err := tx.Get(key)
	if err != nil {
		return err
	}
	var old *model.CrawlDatum
	if rec != nil {
		old = &rec.Datum
	}
	d, did := transition.Inject(old, s.Seed, r.o.Mode, r.o.Now, r.o.Rules)
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
	if did != transition.SeedIgnored {
		rec.Datum = d
		tx.Put(key, rec)
		tx.Rescore(key)
	}
	if r.o.Segment == "" {
		return nil
	}
	listed, err := tx.AddLease(r.o.Segment, key, crawldb.Effect{})
	if listed {
		rep.Listed++
	} else if err == nil && !tx.Lease(r.o.Segment, key) {
		rep.Elsewhere++
	}
	return err
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
