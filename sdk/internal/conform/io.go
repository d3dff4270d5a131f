package conform

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

// protocol checks fetching. Without requests in the options only what needs no
// server is checked.
func (s *Suite) protocol() []Case {
	fetch := func(t *T, r protocol.Request) *protocol.Response {
		resp, err := protocol.NewClient(s.shared(t)).Fetch(t.ctx, &r)
		if err != nil {
			t.fatalf("%s: %v", r.URL, err)
		}
		return resp
	}
	return []Case{
		{Name: "bad urls", run: func(t *T) {
			c := protocol.NewClient(s.shared(t))
			p, _ := s.m.Provided(manifest.Protocol)
			for _, u := range oddURLs() {
				s.refused(t, c, u, true)
			}
			for _, scheme := range p.Schemes {
				s.refused(t, c, scheme+":", true)
				s.refused(t, c, scheme+"://\xff/", false) // who knows what hosts there are
			}
		}},
		{Name: "same answer twice", run: func(t *T) {
			if s.o.Varies || len(s.o.Requests) == 0 {
				t.skip("no requests to compare")
			}
			for _, r := range s.o.Requests {
				a, b := fetch(t, r), fetch(t, r)
				if a.Status != b.Status || string(a.Body) != string(b.Body) || a.Location != b.Location {
					t.errorf("%s: got %s with %d bytes, before %s with %d bytes", r.URL, b.Status, len(b.Body), a.Status, len(a.Body))
				}
				if a.URL != r.URL {
					t.errorf("%s: the response says it is of %s", r.URL, a.URL)
				}
			}
		}},
		{Name: "limit", run: func(t *T) {
			for _, r := range s.o.Requests {
				if full := fetch(t, r); len(full.Body) > 1 {
					r.MaxBytes = int64(len(full.Body) - 1)
					if cut := fetch(t, r); len(cut.Body) > int(r.MaxBytes) || cut.Truncated == "" {
						t.errorf("%s: %d bytes of at most %d, truncated %q", r.URL, len(cut.Body), r.MaxBytes, cut.Truncated)
					}
				}
			}
		}},
		{Name: "concurrent calls", run: func(t *T) { s.fetchTogether(t) }},
		{Name: "cancelled", run: func(t *T) {
			ctx, cancel := context.WithCancel(t.ctx)
			cancel()
			start := time.Now()
			for _, r := range append(s.o.Requests, protocol.Request{URL: "http://192.0.2.1/"}) {
				if _, err := protocol.NewClient(s.shared(t)).Fetch(ctx, &r); !errors.Is(err, context.Canceled) {
					t.errorf("%s: got %v", r.URL, err)
				}
			}
			if took := time.Since(start); took > promptly {
				t.errorf("returned after %v", took)
			}
		}},
	}
}

// refused checks that a URL that leads nowhere is an answer or an error, and
// when it is no URL at all never a success.
func (s *Suite) refused(t *T, c *protocol.Client, url string, noURL bool) {
	ctx, cancel := context.WithTimeout(t.ctx, 5*time.Second)
	defer cancel()
	r, err := c.Fetch(ctx, &protocol.Request{URL: url, Timeout: 2 * time.Second, MaxBytes: 1 << 20})
	switch {
	case err == nil && r.Status.Code == model.ProtocolSuccess && noURL:
		t.errorf("%.80q: fetched %d bytes", url, len(r.Body))
	case err == nil && r.Status.Code == model.ProtocolUnset:
		t.errorf("%.80q: the response has no status", url)
	case fault.Is(err, fault.Shutdown):
		t.fatalf("%.80q: %v", url, err)
	}
}

func (s *Suite) fetchTogether(t *T) {
	if len(s.o.Requests) == 0 {
		t.skip("no requests")
	}
	c := protocol.NewClient(s.shared(t))
	var wg sync.WaitGroup
	errs := make([]error, 8*len(s.o.Requests))
	for i := range errs {
		wg.Go(func() { _, errs[i] = c.Fetch(t.ctx, &s.o.Requests[i%len(s.o.Requests)]) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.errorf("%v", err)
	}
}

func ops(docs []model.Document, kind indexwriter.OpKind) []indexwriter.Op {
	out := make([]indexwriter.Op, len(docs))
	for i := range docs {
		out[i] = indexwriter.Op{Kind: kind, Doc: docs[i]}
		if kind == indexwriter.Delete {
			out[i].Doc = model.Document{ID: docs[i].ID}
		}
	}
	return out
}

// writer opens the instance with a writer that fails t on every error.
type writer struct {
	t *T
	c *indexwriter.Client
}

func (s *Suite) open(t *T, conn grpc.ClientConnInterface) writer {
	w := writer{t, indexwriter.NewClient(conn)}
	if err := w.c.Open(t.ctx, instance, Params(s.m, s.o.Params)); err != nil {
		t.fatalf("%v", err)
	}
	return w
}

func (w writer) write(ops []indexwriter.Op) {
	results, err := w.c.Write(w.t.ctx, instance, ops)
	if err != nil {
		w.t.fatalf("%v", err)
	}
	for i, r := range results {
		if r.Rejected != "" {
			w.t.errorf("%s was refused: %s", ops[i].Doc.ID, r.Rejected)
		}
	}
}

func (w writer) commit() {
	if err := w.c.Commit(w.t.ctx, instance); err != nil {
		w.t.fatalf("%v", err)
	}
}

func (s *Suite) indexWriter() []Case {
	docs := append(sampleDocs(), s.o.Docs...)
	return []Case{
		{Name: "not opened", run: func(t *T) {
			if _, err := indexwriter.NewClient(s.shared(t)).Write(t.ctx, "never opened", ops(docs, indexwriter.Add)); err == nil {
				t.errorf("wrote to an instance that was never opened")
			}
		}},
		{Name: "write, again, delete", run: func(t *T) {
			w := s.open(t, s.shared(t))
			for range 2 {
				w.write(ops(docs, indexwriter.Add))
				w.commit()
			}
			for range 2 { // the second time there is nothing to delete
				w.write(ops(docs, indexwriter.Delete))
				w.commit()
			}
		}},
		{Name: "odd documents", run: func(t *T) {
			w := s.open(t, s.shared(t))
			if _, err := w.c.Write(t.ctx, instance, ops(oddDocs(), indexwriter.Add)); fault.Is(err, fault.Shutdown) {
				t.fatalf("%v", err)
			}
			w.write(ops(docs, indexwriter.Add))
			w.commit()
		}},
		{Name: "cancelled", run: func(t *T) {
			w := s.open(t, s.shared(t))
			ctx, cancel := context.WithCancel(t.ctx)
			cancel()
			if _, err := w.c.Write(ctx, instance, ops(docs, indexwriter.Add)); !errors.Is(err, context.Canceled) {
				t.errorf("got %v", err)
			}
			w.write(ops(docs, indexwriter.Add))
		}},
		{Name: "close twice, open again", run: func(t *T) {
			w := s.open(t, s.shared(t))
			for range 2 {
				if err := w.c.Close(t.ctx, instance); err != nil {
					t.errorf("%v", err)
				}
			}
			w = s.open(t, s.shared(t))
			w.write(ops(docs, indexwriter.Delete))
			w.commit()
		}},
	}
}

// searcher checks that what was written is found. It needs the plugin to be an
// index writer too.
func (s *Suite) searcher() []Case {
	search := func(t *T, q searcher.Query) *searcher.Result {
		r, err := searcher.NewClient(s.shared(t)).Search(t.ctx, instance, &q)
		if err != nil {
			t.fatalf("search %q: %v", q.Text, err)
		}
		return r
	}
	return []Case{
		{Name: "found and lost", run: func(t *T) {
			if _, ok := s.m.Provided(manifest.IndexWriter); !ok {
				t.skip("the plugin writes no index")
			}
			w := s.open(t, s.shared(t))
			doc := sampleDoc("http://example.org/findable")
			doc.Fields["content"] = []string{"xylophone recital"}
			w.write([]indexwriter.Op{{Doc: doc}})
			w.commit()
			if err := holds(search(t, searcher.Query{Text: "xylophone"}), doc.ID, true); err != nil {
				t.errorf("%v", err)
			}
			if r := search(t, searcher.Query{Text: "xylophone", Offset: 1}); len(r.Hits) != 0 || r.Total != 1 {
				t.errorf("past the end: %d hits of %d", len(r.Hits), r.Total)
			}
			w.write([]indexwriter.Op{{Kind: indexwriter.Delete, Doc: model.Document{ID: doc.ID}}})
			w.commit()
			if err := holds(search(t, searcher.Query{Text: "xylophone"}), doc.ID, false); err != nil {
				t.errorf("%v", err)
			}
		}},
		{Name: "queries", run: func(t *T) {
			if _, ok := s.m.Provided(manifest.IndexWriter); ok {
				s.open(t, s.shared(t))
			}
			for _, q := range append(s.o.Queries, searcher.Query{Text: "words"}, searcher.Query{Text: "words", Limit: 1}) {
				limit := q.Limit
				if limit == 0 {
					limit = 10
				}
				if r := search(t, q); len(r.Hits) > limit {
					t.errorf("%q: %d hits, at most %d were asked for", q.Text, len(r.Hits), limit)
				}
			}
			for _, text := range []string{"", "\xff", `"`, "((", "+-&&||!(){}[]^~*?:/\\"} {
				_, err := searcher.NewClient(s.shared(t)).Search(t.ctx, instance, &searcher.Query{Text: text})
				if err != nil && !fault.Is(err, fault.Invalid) {
					t.errorf("%q: got %v, want hits or an error of kind invalid", text, err)
				}
			}
		}},
	}
}

func holds(r *searcher.Result, id string, want bool) error {
	for _, h := range r.Hits {
		if h.ID == id {
			if !want {
				return fmt.Errorf("%s is still found", id)
			}
			return nil
		}
	}
	if want {
		return fmt.Errorf("%s is not among %d hits", id, len(r.Hits))
	}
	return nil
}
