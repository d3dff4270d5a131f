// Package indexmore adds fields made from the response's headers: dates, size
// and type of the document, and a title from Content-Disposition.
package indexmore

import (
	"context"
	_ "embed"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

// Config are the settings; see plugin.hcl.
type Config struct {
	IndexMIMETypeParts bool              `json:"index_mime_type_parts"`
	MIMETypes          map[string]string `json:"mime_types"`
	MIMETypesField     string            `json:"mime_types_field"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c Config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	return &sdk.Extensions{IndexingFilter: &Filter{c}}, nil
}

// Filter implements Nutch's MoreIndexingFilter. Dates are RFC 3339 in UTC.
type Filter struct{ Config }

// FilterDocument implements indexingfilter.Filter.
func (f *Filter) FilterDocument(_ context.Context, in *indexingfilter.Input) (*indexingfilter.Patch, error) {
	set := map[string][]string{}
	date := in.Datum.PrevFetchTime
	if t, ok := parseTime(in.Headers.First("Last-Modified")); ok {
		set["lastModified"] = []string{t.UTC().Format(time.RFC3339)}
		date = t
	}
	if !date.IsZero() {
		set["date"] = []string{date.UTC().Format(time.RFC3339)}
	}
	if n, err := strconv.ParseUint(strings.TrimSpace(in.Headers.First("Content-Length")), 10, 63); err == nil {
		set["contentLength"] = []string{strconv.FormatUint(n, 10)}
	}
	f.types(set, in)
	if _, params, err := mime.ParseMediaType(in.Headers.First("Content-Disposition")); err == nil {
		if name := path.Base(strings.ReplaceAll(params["filename"], `\`, "/")); params["filename"] != "" && name != "/" && name != "." {
			set["title"] = []string{name}
		}
	}
	if len(set) == 0 {
		return nil, nil
	}
	return &indexingfilter.Patch{Set: set}, nil
}

func (f *Filter) types(set map[string][]string, in *indexingfilter.Input) {
	full := in.Parse.ContentMeta.First("Content-Type")
	if full == "" {
		full = in.Headers.First("Content-Type")
	}
	full, _, _ = strings.Cut(full, ";")
	full = strings.ToLower(strings.TrimSpace(full))
	if full == "" {
		return
	}
	name, mapped := f.MIMETypes[full]
	if mapped && f.MIMETypesField != "" {
		set[f.MIMETypesField] = []string{name}
	}
	if mapped && f.MIMETypesField == "" {
		set["type"] = []string{name}
		return
	}
	set["type"] = []string{full}
	if primary, sub, ok := strings.Cut(full, "/"); ok && f.IndexMIMETypeParts {
		set["type"] = append(set["type"], primary, sub)
	}
}

// parseTime reads the date forms of RFC 9110 and those that real servers send
// instead of them.
func parseTime(s string) (time.Time, bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return time.Time{}, false
	}
	if t, err := http.ParseTime(s); err == nil {
		return t, true
	}
	for _, layout := range []string{
		time.RFC1123Z, time.RFC3339, time.RFC822, time.RFC822Z, time.UnixDate, time.RubyDate,
		"Mon, 2 Jan 2006 15:04:05 MST", "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05",
		"Mon, 02-Jan-2006 15:04:05 MST", "2 Jan 2006 15:04:05 MST", "2006-01-02 15:04:05", "2006-01-02",
		"01/02/2006 15:04:05", "2006/01/02 15:04:05", "Jan 2, 2006",
	} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

var _ indexingfilter.Filter = (*Filter)(nil)
