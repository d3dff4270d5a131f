// Package creativecommons finds the Creative Commons licence of a page and makes
// the field cc of its features.
package creativecommons

import (
	"bytes"
	"context"
	_ "embed"
	"html"
	"net/url"
	"strings"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/model"
)

//go:embed plugin.hcl
var manifest []byte

// Nutch's keys of the parse metadata.
const (
	metaURL      = "License-Url"
	metaLocation = "License-Location" // rdf, rel or a
	metaWork     = "Work-Type"
)

// maxRDF is how many bytes of RDF are read.
const maxRDF = 64 << 10

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	ExcludeUnlicensed bool `json:"exclude_unlicensed"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	f := &Filter{c}
	return &sdk.Extensions{ParseFilter: f, IndexingFilter: f}, nil
}

// Filter implements Nutch's CCParseFilter and CCIndexingFilter: RDF in the page
// counts before links with rel="license", those before other links.
type Filter struct{ config }

// FilterParse implements parsefilter.Filter.
func (f *Filter) FilterParse(_ context.Context, in *parsefilter.Input) (*parsefilter.Patch, error) {
	location, license, work := "", "", ""
	if in.Content != nil {
		license, work = rdf(in.Content.Body)
		location = "rdf"
	}
	if license == "" && len(in.Parse.Facts) > 0 {
		for _, href := range in.Parse.Facts[0].Names {
			// Any address may be a licence by rel; those of Creative Commons first.
			if license == "" || !isCC(license) && isCC(href) {
				license, location = href, "rel"
			}
		}
	}
	if license == "" {
		for i := range in.Parse.Outlinks {
			if l := &in.Parse.Outlinks[i]; (l.Tag == "a" || l.Tag == "area") && isCC(l.URL) {
				license, location = l.URL, "a"
				break
			}
		}
	}
	if license == "" {
		if f.ExcludeUnlicensed {
			return &parsefilter.Patch{Fail: "no Creative Commons licence, and exclude_unlicensed is set"}, nil
		}
		return nil, nil
	}
	set := model.Metadata{metaURL: {license}, metaLocation: {location}}
	if work != "" {
		set.Set(metaWork, work)
	}
	return &parsefilter.Patch{SetMeta: set}, nil
}

// isCC reports whether u is the address of a licence, or of a dedication to the
// public domain.
func isCC(u string) bool { return len(features(u)) > 0 }

// features returns what the address of a licence says: "by", "nc", "4.0".
func features(address string) []string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil
	}
	if host := strings.ToLower(u.Hostname()); host != "creativecommons.org" && host != "www.creativecommons.org" {
		return nil
	}
	kind, rest, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	if kind != "licenses" && kind != "publicdomain" {
		return nil
	}
	return strings.FieldsFunc(strings.ToLower(rest), func(r rune) bool { return r == '/' || r == '-' })
}

// rdf reads the RDF that licences were once written in, usually in a comment:
// the resource of cc:license (or of License) and the last word of dc:type.
func rdf(body []byte) (license, work string) {
	i := bytes.Index(body, []byte("<rdf:RDF"))
	if i < 0 {
		return "", ""
	}
	body = body[i:min(len(body), i+maxRDF)]
	if i = bytes.Index(body, []byte("</rdf:RDF>")); i >= 0 {
		body = body[:i]
	}
	for _, element := range bytes.Split(body, []byte("<"))[1:] {
		tag, _, _ := bytes.Cut(element, []byte(">"))
		name, _, _ := strings.Cut(string(bytes.TrimRight(tag, "/")), " ")
		if _, local, ok := strings.Cut(name, ":"); ok {
			name = local
		}
		switch strings.TrimSpace(name) {
		case "license":
			if r := attribute(tag, "rdf:resource"); license == "" && isCC(r) {
				license = r
			}
		case "License":
			if r := attribute(tag, "rdf:about"); license == "" && isCC(r) {
				license = r
			}
		case "type":
			r := attribute(tag, "rdf:resource")
			if work == "" {
				work = strings.ToLower(r[strings.LastIndexByte(r, '/')+1:])
			}
		}
	}
	if license == "" {
		return "", ""
	}
	return license, work
}

func attribute(tag []byte, name string) string {
	_, rest, ok := strings.Cut(string(tag), name+"=")
	if !ok || rest == "" || rest[0] != '"' && rest[0] != '\'' {
		return ""
	}
	value, _, ok := strings.Cut(rest[1:], rest[:1])
	if !ok {
		return ""
	}
	return html.UnescapeString(strings.TrimSpace(value))
}

// FilterDocument implements indexingfilter.Filter.
func (f *Filter) FilterDocument(_ context.Context, in *indexingfilter.Input) (*indexingfilter.Patch, error) {
	m := in.Parse.ParseMeta
	var cc []string
	if l := m.First(metaLocation); l != "" {
		cc = append(cc, l)
	}
	cc = append(cc, features(m.First(metaURL))...)
	if w := m.First(metaWork); w != "" {
		cc = append(cc, w)
	}
	if cc == nil {
		return nil, nil
	}
	return &indexingfilter.Patch{Add: map[string][]string{"cc": cc}}, nil
}

var (
	_ parsefilter.Filter    = (*Filter)(nil)
	_ indexingfilter.Filter = (*Filter)(nil)
)
