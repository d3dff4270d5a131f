// Package indexarbitrary lets a program of the user add fields. It owns the
// protocol between the two: JSON, one object a line.
package indexarbitrary

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"maps"
	"os/exec"
	"slices"
	"time"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	Command   []string         `json:"command"`
	Processes int              `json:"processes"`
	TimeLimit setting.Duration `json:"time_limit"`
	MaxAnswer setting.Size     `json:"max_answer"`
	Fields    []string         `json:"fields"`
	SendText  bool             `json:"send_text"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	f := &Filter{config: c}
	if len(c.Command) == 0 {
		env.Logger.Warn("no program: set command")
		return &sdk.Extensions{IndexingFilter: f}, nil
	}
	if _, err := exec.LookPath(c.Command[0]); err != nil {
		return nil, fault.Errorf(fault.Invalid, "command: %w", err)
	}
	f.idle = make(chan *worker, c.Processes)
	for range c.Processes {
		f.idle <- &worker{command: c.Command, maxAnswer: int(c.MaxAnswer), log: env.Logger}
	}
	return &sdk.Extensions{IndexingFilter: f, Close: f.close}, nil
}

// Filter stands for Nutch's ArbitraryIndexingFilter. It is safe for concurrent
// use.
type Filter struct {
	config
	idle chan *worker // nil: no program
}

func (f *Filter) close() error {
	var errs []error
	for range cap(f.idle) {
		w := <-f.idle
		errs = append(errs, w.stop())
	}
	return errors.Join(errs...)
}

// Question is a line that the program reads.
type Question struct {
	URL         string              `json:"url"`
	Segment     string              `json:"segment,omitempty"`
	Title       string              `json:"title,omitempty"`
	Text        string              `json:"text,omitempty"`
	Fields      map[string][]string `json:"fields"`
	ParseMeta   model.Metadata      `json:"parse_meta,omitempty"`
	ContentMeta model.Metadata      `json:"content_meta,omitempty"`
	DBMeta      model.Metadata      `json:"db_meta,omitempty"`
	Headers     model.Metadata      `json:"headers,omitempty"`
	Status      string              `json:"status"`
	Score       float64             `json:"score"`
	FetchTime   time.Time           `json:"fetch_time"` // of the last fetch
}

// answer is a line that the program writes. Error makes the document fail.
type answer struct {
	Set    map[string]texts `json:"set"`
	Add    map[string]texts `json:"add"`
	Remove []string         `json:"remove"`
	Drop   string           `json:"drop"`
	Error  string           `json:"error"`
}

// texts is one text or a list of them.
type texts []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *texts) UnmarshalJSON(b []byte) error {
	if b = bytes.TrimSpace(b); len(b) > 0 && b[0] == '[' {
		var list []string
		err := json.Unmarshal(b, &list)
		*t = list
		return err
	}
	var s string
	err := json.Unmarshal(b, &s)
	*t = texts{s}
	return err
}

// FilterDocument implements indexingfilter.Filter.
func (f *Filter) FilterDocument(ctx context.Context, in *indexingfilter.Input) (*indexingfilter.Patch, error) {
	if f.idle == nil {
		return nil, nil
	}
	line, err := json.Marshal(f.question(in))
	if err != nil {
		return nil, fault.Errorf(fault.Permanent, "write document %s: %w", in.URL, err)
	}
	var w *worker
	select {
	case w = <-f.idle:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { f.idle <- w }()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, f.TimeLimit.D())
	defer cancel()
	got, err := w.ask(limited, append(line, '\n'))
	if err != nil {
		return nil, err
	}
	var a answer
	d := json.NewDecoder(bytes.NewReader(got))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return nil, fault.Errorf(fault.Permanent, "answer of %s is not {\"set\": {...}, \"add\": {...}, \"remove\": [...], \"drop\": \"...\"}: %w", f.Command[0], err)
	}
	return a.patch()
}

func (f *Filter) question(in *indexingfilter.Input) *Question {
	d := &in.Datum
	q := &Question{
		URL: in.URL, Segment: in.Segment, Title: in.Parse.Title, Fields: map[string][]string{}, ParseMeta: in.Parse.ParseMeta,
		ContentMeta: in.Parse.ContentMeta, DBMeta: d.Metadata, Headers: in.Headers, Status: d.Status.String(),
		Score: float64(d.Score) / model.Micro, FetchTime: d.PrevFetchTime.UTC(),
	}
	if f.SendText {
		q.Text = in.Parse.Text
	}
	maps.Copy(q.Fields, in.Doc.Fields)
	if len(f.Fields) > 0 {
		maps.DeleteFunc(q.Fields, func(name string, _ []string) bool { return !slices.Contains(f.Fields, name) })
	}
	return q
}

func (a *answer) patch() (*indexingfilter.Patch, error) {
	if a.Error != "" {
		return nil, fault.Errorf(fault.Permanent, "program: %s", a.Error)
	}
	if len(a.Set)+len(a.Add)+len(a.Remove) == 0 && a.Drop == "" {
		return nil, nil
	}
	return &indexingfilter.Patch{Set: lists(a.Set), Add: lists(a.Add), Remove: a.Remove, Drop: a.Drop}, nil
}

func lists(m map[string]texts) map[string][]string {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string][]string, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

var _ indexingfilter.Filter = (*Filter)(nil)
