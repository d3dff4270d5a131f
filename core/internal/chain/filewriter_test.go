package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/fault"
)

// fileWriter is an index writer whose commits replace a file. It ends its
// process on documents named so.
type fileWriter struct {
	mu    sync.Mutex
	files map[string]string            // by instance
	docs  map[string]map[string]string // by instance and id: the document's "v"
}

func newFileWriter(sdk.Env) (*sdk.Extensions, error) {
	return &sdk.Extensions{IndexWriter: &fileWriter{files: map[string]string{}, docs: map[string]map[string]string{}}}, nil
}

func (w *fileWriter) Open(_ context.Context, instance string, params indexwriter.Params) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if params["file"] == "" {
		return fault.Errorf(fault.Invalid, "parameter file is missing")
	}
	for suffix, kind := range map[string]fault.Kind{".down": fault.Transient, ".mistake": fault.Invalid} {
		if _, err := os.Stat(params["file"] + suffix); err == nil {
			return fault.Errorf(kind, "there is %s", suffix)
		}
	}
	w.files[instance] = params["file"]
	w.docs[instance] = readFile(params["file"])
	return nil
}

func readFile(path string) map[string]string {
	docs := map[string]string{}
	if b, err := os.ReadFile(path); err == nil {
		_ = json.Unmarshal(b, &docs)
	}
	return docs
}

func (w *fileWriter) Write(_ context.Context, instance string, ops []indexwriter.Op) ([]indexwriter.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	docs := w.docs[instance]
	if docs == nil {
		return nil, fault.Errorf(fault.Permanent, "instance %q is not open", instance)
	}
	out := make([]indexwriter.Result, len(ops))
	for i, op := range ops {
		switch {
		case strings.Contains(op.Doc.ID, "crash-once"):
			if _, err := os.Stat(w.files[instance] + ".once"); err != nil {
				_ = os.WriteFile(w.files[instance]+".once", nil, 0o600)
				os.Exit(9) //nolint:gocritic // it dies as in a crash: nothing deferred runs
			}
		case strings.Contains(op.Doc.ID, "crash"):
			os.Exit(9)
		case strings.Contains(op.Doc.ID, "refuse"):
			out[i].Rejected = "not this one"
			continue
		}
		if op.Kind == indexwriter.Delete {
			delete(docs, op.Doc.ID)
		} else {
			docs[op.Doc.ID] = fmt.Sprint(op.Doc.Fields["v"])
		}
	}
	return out, nil
}

func (w *fileWriter) Commit(_ context.Context, instance string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	b, err := json.Marshal(w.docs[instance])
	if err != nil {
		return err
	}
	tmp := w.files[instance] + ".tmp"
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, w.files[instance])
}

func (w *fileWriter) Close(context.Context, string) error { return nil }

func sortedIDs(docs map[string]string) []string {
	var ids []string
	for id := range docs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
