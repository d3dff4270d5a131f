// Package indexgeoip adds what MaxMind's databases know of a server's address:
// place, network, provider.
package indexgeoip

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"net/url"

	"github.com/hashicorp/go-hclog"
	"github.com/oschwald/maxminddb-golang/v2"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/fault"
)

//go:embed plugin.hcl
var manifest []byte

// metaIP is the CrawlDB's metadata that http.store_ip_address leaves.
const metaIP = "_ip_"

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	Anonymous  string `json:"db_anonymous"`
	ASN        string `json:"db_asn"`
	City       string `json:"db_city"`
	Connection string `json:"db_connection"`
	Country    string `json:"db_country"`
	Domain     string `json:"db_domain"`
	ISP        string `json:"db_isp"`
	Language   string `json:"language"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	f := &Filter{language: c.Language, log: env.Logger}
	for _, d := range [...]struct{ setting, path string }{
		{"db_city", c.City}, // before db_country: it knows more
		{"db_country", c.Country},
		{"db_asn", c.ASN},
		{"db_isp", c.ISP},
		{"db_domain", c.Domain},
		{"db_connection", c.Connection},
		{"db_anonymous", c.Anonymous},
	} {
		if d.path == "" {
			continue
		}
		db, err := maxminddb.Open(d.path)
		if err != nil {
			return nil, errors.Join(fault.Errorf(fault.Invalid, "%s: open database %s: %w", d.setting, d.path, err), f.close())
		}
		f.dbs = append(f.dbs, database{d.setting, db})
	}
	if len(f.dbs) == 0 {
		env.Logger.Warn("no database: set db_city or another")
	}
	return &sdk.Extensions{IndexingFilter: f, Close: f.close}, nil
}

type database struct {
	setting string
	*maxminddb.Reader
}

// Filter implements Nutch's GeoIPIndexingFilter. It is safe for concurrent use.
type Filter struct {
	dbs      []database
	language string
	log      hclog.Logger
}

func (f *Filter) close() error {
	var errs []error
	for _, d := range f.dbs {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}

// FilterDocument implements indexingfilter.Filter. A database that can't be read
// at an address is said in the log; the document is indexed without it.
func (f *Filter) FilterDocument(_ context.Context, in *indexingfilter.Input) (*indexingfilter.Patch, error) {
	ip, ok := address(in)
	if !ok || len(f.dbs) == 0 {
		return nil, nil
	}
	out := fields{}
	for _, d := range f.dbs {
		res := d.Lookup(ip)
		if !res.Found() && res.Err() == nil {
			continue
		}
		var r record
		if err := res.Decode(&r); err != nil {
			f.log.Warn("look up address", "db", d.setting, "ip", ip.String(), "url", in.URL, "error", fmt.Sprint(err))
			continue
		}
		out.record(&r, f.language)
	}
	if len(out) == 0 {
		return nil, nil
	}
	out.text("ip", ip.String())
	return &indexingfilter.Patch{Set: out}, nil
}

// address returns the address that the page was fetched from: as it was stored,
// or the URL's host when that is one.
func address(in *indexingfilter.Input) (netip.Addr, bool) {
	text := in.Datum.Metadata.First(metaIP)
	if text == "" {
		u, err := url.Parse(in.URL)
		if err != nil {
			return netip.Addr{}, false
		}
		text = u.Hostname()
	}
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}, false
	}
	return ip.Unmap().WithZone(""), true
}

var _ indexingfilter.Filter = (*Filter)(nil)
