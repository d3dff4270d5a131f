package importnutch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/linkdb"
	"github.com/gonutch/crawler/core/internal/hadoop"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

// Target is the crawl that is filled. It must be empty, and nobody else may see it: an import that fails leaves it half full.
type Target struct {
	Store *store.Store
	DB    *crawldb.DB
	Links *linkdb.DB
	Segs  *segment.Segments
}

// Options say how is imported.
type Options struct {
	Hadoop hadoop.Options
	// Force reads databases that a job of Nutch has locked.
	Force bool
	// KeepsCash says that pages keep the score that they hand on to their links, as scoring-opic does with mode = "nutch".
	KeepsCash bool
	// Private says of a URL whether it names an address that may only be fetched when the configuration allows it.
	Private func(url string) bool
	// Progress is called now and then. It may be nil.
	Progress func(Progress)
}

// Progress says how far an import is.
type Progress struct {
	Part    string // what is being read
	Records int64
	Bytes   int64 // of all files
	Total   int64
}

// Report says what was imported.
type Report struct {
	From     string           `json:"from"`
	Dir      string           `json:"dir,omitempty"` // the crawl directory; empty for a dry run
	Records  int64            `json:"records"`       // of the CrawlDB
	ByStatus map[string]int64 `json:"byStatus"`
	Segments []Segment        `json:"segments"`
	Targets  int64            `json:"targets"` // URLs with inlinks
	Inlinks  int64            `json:"inlinks"`
	Checked  int              `json:"filesWithChecksums"`
	Left     []Left           `json:"left"` // what could not be taken
	Elapsed  time.Duration    `json:"elapsed"`
}

// Segment says what was imported of a segment.
type Segment struct {
	ID        string `json:"id"`
	State     string `json:"state"`
	Generated int64  `json:"generated"`
	Fetched   int64  `json:"fetched"`
	Documents int64  `json:"documents"` // with content
	Bytes     int64  `json:"bytes"`     // of documents
	Parsed    int64  `json:"parsed"`
	// Open are pages whose outcome is not in Nutch's CrawlDb: "run" or "updatedb" applies it.
	Open int64 `json:"open"`
}

// Left is something that was not taken, or not as it was.
type Left struct {
	What    string `json:"what"`
	Count   int64  `json:"count,omitempty"`
	Why     string `json:"why"`
	Example string `json:"example,omitempty"`
}

// job is one import.
type job struct {
	reader
	src  Source
	dst  *Target // nil for a dry run
	o    Options
	rep  Report
	left map[string]*Left
	prog Progress
	done int64 // bytes of files that are read
	said time.Time

	hasLinks bool
}

// Run reads src. With a nil dst nothing is written.
func Run(ctx context.Context, src Source, dst *Target, o Options) (Report, error) {
	start := time.Now()
	j := &job{reader: *newReader(), src: src, dst: dst, o: o, left: map[string]*Left{}, hasLinks: src.LinkDB != ""}
	j.rep = Report{ByStatus: map[string]int64{}, Segments: []Segment{}, Left: []Left{}}
	err := j.run(ctx)
	for _, l := range j.left {
		j.rep.Left = append(j.rep.Left, *l)
	}
	slices.SortFunc(j.rep.Left, func(a, b Left) int { return cmp.Or(cmp.Compare(a.What, b.What), cmp.Compare(a.Why, b.Why)) })
	j.rep.Elapsed = time.Since(start)
	return j.rep, err
}

func (j *job) run(ctx context.Context) error {
	crawldbParts, err := databaseParts(j.src.CrawlDB, j.o.Force)
	if err != nil {
		return err
	}
	linkdbParts, err := databaseParts(j.src.LinkDB, j.o.Force)
	if err != nil {
		return err
	}
	segs := make([]segmentParts, len(j.src.Segments))
	for i, dir := range j.src.Segments {
		if segs[i], err = partsOf(dir); err != nil {
			return err
		}
		for _, names := range segs[i] {
			j.measure(names)
		}
	}
	j.measure(crawldbParts)
	j.measure(linkdbParts)
	if err := j.records(ctx, crawldbParts); err != nil {
		return fmt.Errorf("import the CrawlDb: %w", err)
	}
	j.rep.Segments = make([]Segment, len(segs))
	for i := len(segs) - 1; i >= 0; i-- {
		if j.rep.Segments[i], err = j.segment(ctx, i, segs[i]); err != nil {
			return fmt.Errorf("import segment %s: %w", filepath.Base(j.src.Segments[i]), err)
		}
	}
	if err := j.inlinks(ctx, linkdbParts); err != nil {
		return fmt.Errorf("import the LinkDb: %w", err)
	}
	j.others()
	return nil
}

// measure adds files to what is to be read.
func (j *job) measure(names []string) {
	for _, name := range names {
		if st, err := os.Stat(name); err == nil {
			j.prog.Total += st.Size()
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".crc")); err == nil {
			j.rep.Checked++
		}
	}
}

// others lists what is beside the three structures.
func (j *job) others() {
	root := filepath.Dir(cmp.Or(j.src.CrawlDB, j.src.LinkDB))
	if len(j.src.Segments) > 0 && root == "." {
		root = filepath.Dir(filepath.Dir(j.src.Segments[0]))
	}
	for _, x := range []struct{ name, why string }{
		{"hostdb", "counts of hosts are kept with the CrawlDB here; DNS checks and expressions of it begin anew"},
		{"webgraphdb", `"crawler webgraph" makes it anew of the segments`},
	} {
		if st, err := os.Stat(filepath.Join(root, x.name)); err == nil && st.IsDir() {
			j.leave(x.name, x.why, "")
		}
	}
}

// maxLeft bounds the list of what was not taken.
const maxLeft = 1000

// leave notes that something was not taken.
func (j *job) leave(what, why, example string) {
	if len(j.left) >= maxLeft && j.left[what+"\x00"+why] == nil {
		what, why, example = "more of other kinds", "the list is full", ""
	}
	l := j.left[what+"\x00"+why]
	if l == nil {
		l = &Left{What: what, Why: why, Example: example}
		j.left[what+"\x00"+why] = l
	}
	l.Count++
}

// step tells how far the import is, at most every so often, and whether to go on.
func (j *job) step(ctx context.Context, part string, read int64) error {
	j.prog.Records++
	if j.prog.Records%256 != 0 {
		return nil
	}
	if now := time.Now(); j.o.Progress != nil && now.Sub(j.said) > 100*time.Millisecond {
		j.said = now
		p := j.prog
		p.Part, p.Bytes = part, j.done+read
		j.o.Progress(p)
	}
	return ctx.Err()
}

// batch bounds the records of one change of the store.
const batch = 2000

// records imports the CrawlDb.
func (j *job) records(ctx context.Context, names []string) (err error) {
	var pending []pendingRecord
	for _, name := range names {
		err := j.each(ctx, "crawldb", name, func(f *hadoop.File, url string, value []byte) error {
			m, err := j.readDatum(value)
			if err != nil {
				return f.Wrong(fmt.Errorf("CrawlDatum of %s: %w", url, err))
			}
			rec, ok := j.record(url, &m)
			if !ok {
				return nil
			}
			if pending = append(pending, pendingRecord{urlkey.FromURL(url), rec}); len(pending) < batch {
				return nil
			}
			err = j.putRecords(ctx, pending)
			pending = pending[:0]
			return err
		})
		if err != nil {
			return err
		}
	}
	return j.putRecords(ctx, pending)
}

type pendingRecord struct {
	key urlkey.Key
	rec *crawldb.Record
}

// each calls f with every record of a file.
func (j *job) each(ctx context.Context, part, name string, f func(file *hadoop.File, url string, value []byte) error) (err error) {
	file, err := hadoop.Open(name, j.o.Hadoop)
	if filepath.Base(name) == "data" && err == nil {
		err = file.Close()
		if err == nil {
			file, err = hadoop.OpenMap(name, j.o.Hadoop)
		}
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for {
		key, value, err := file.Next()
		size, read := file.Size()
		if errors.Is(err, io.EOF) {
			j.done += size
			return nil
		}
		if err != nil {
			return err
		}
		url, err := file.TextKey(key)
		if err == nil {
			err = f(file, url, value)
		}
		if err == nil {
			err = j.step(ctx, part, read)
		}
		if err != nil {
			return err
		}
	}
}

// record makes a record, and counts it.
func (j *job) record(url string, m *datum) (*crawldb.Record, bool) {
	if url == "" {
		j.leave("record of the CrawlDb", "it has no URL", "")
		return nil, false
	}
	rec, ok := m.record(j.o.KeepsCash)
	if !ok {
		j.leave("record of the CrawlDb", fmt.Sprintf("status %d is none that a CrawlDb has", m.Status), url)
		return nil, false
	}
	if m.Lost != "" {
		j.leave("metadata of a record of the CrawlDb", "a value, and what follows it, is of class "+m.Lost+", which can't be read", url)
	}
	if j.o.Private != nil && j.o.Private(url) {
		j.leave("permission to fetch a private address", "the record is taken; it is fetched when http.allow_private names its host and port", url)
	}
	j.rep.Records++
	j.rep.ByStatus[rec.Datum.Status.String()]++
	return rec, true
}

// putRecords stores records. Of two of one URL the one that was fetched last stays, as when CrawlDbs are merged.
func (j *job) putRecords(ctx context.Context, recs []pendingRecord) error {
	if j.dst == nil || len(recs) == 0 {
		return nil
	}
	return j.dst.DB.UpdateNoSync(ctx, func(tx *crawldb.Tx) error {
		for _, r := range recs {
			old, err := tx.Get(r.key)
			if err != nil {
				return err
			}
			if old != nil {
				loser := r.rec
				if newer(&r.rec.Datum, &old.Datum) {
					loser = old
				}
				j.rep.Records--
				j.rep.ByStatus[loser.Datum.Status.String()]--
				j.leave("record of the CrawlDb", "it has another record of the same URL, which was fetched later", "")
				if loser == r.rec {
					continue
				}
			}
			tx.Put(r.key, r.rec)
		}
		return nil
	})
}

// inlinks imports the LinkDb.
func (j *job) inlinks(ctx context.Context, names []string) error {
	type target struct {
		key   urlkey.Key
		links []link
	}
	var pending []target
	count := 0
	flush := func() error {
		defer func() { pending, count = pending[:0], 0 }()
		if j.dst == nil || len(pending) == 0 {
			return nil
		}
		return j.dst.Store.UpdateNoSync(ctx, func(tx *store.Tx) error {
			for _, t := range pending {
				in := make([]linkdb.From, len(t.links))
				for i, l := range t.links {
					in[i] = linkdb.From{Source: urlkey.FromURL(l.URL), Anchor: l.Anchor, Metadata: l.Meta}
				}
				j.rep.Inlinks += int64(j.dst.Links.Import(tx, t.key, in))
			}
			return nil
		})
	}
	for _, name := range names {
		err := j.each(ctx, "linkdb", name, func(f *hadoop.File, url string, value []byte) error {
			links, err := j.readInlinks(value)
			if err != nil {
				return f.Wrong(fmt.Errorf("inlinks of %s: %w", url, err))
			}
			if len(links) == 0 || url == "" {
				return nil
			}
			j.rep.Targets++
			if j.dst == nil {
				j.rep.Inlinks += int64(len(links))
				return nil
			}
			pending = append(pending, target{urlkey.FromURL(url), links})
			if count += len(links); count < 5*batch {
				return nil
			}
			return flush()
		})
		if err != nil {
			return err
		}
	}
	return flush()
}
