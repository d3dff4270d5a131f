package indexgeoip_test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"

	indexgeoip "github.com/gonutch/crawler/plugins/index-geoip"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest"
)

// write makes a database of one network, in the form of MaxMind's own.
func write(t testing.TB, kind, network string, v mmdbtype.Map) string {
	t.Helper()
	tree, err := mmdbwriter.New(mmdbwriter.Options{DatabaseType: kind, RecordSize: 24, IncludeReservedNetworks: true})
	if err != nil {
		t.Fatal(err)
	}
	_, n, err := net.ParseCIDR(network)
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.Insert(n, v); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), kind+".mmdb")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tree.WriteTo(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func names(en, de string) mmdbtype.Map {
	m := mmdbtype.Map{"en": mmdbtype.String(en)}
	if de != "" {
		m["de"] = mmdbtype.String(de)
	}
	return m
}

func settings(t testing.TB, s map[string]string) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func databases(t testing.TB) map[string]string {
	t.Helper()
	city := write(t, "GeoLite2-City", "81.2.69.0/24", mmdbtype.Map{
		"city":      mmdbtype.Map{"geoname_id": mmdbtype.Uint32(2643743), "names": names("London", "")},
		"continent": mmdbtype.Map{"code": mmdbtype.String("EU"), "names": names("Europe", "Europa")},
		"country":   mmdbtype.Map{"iso_code": mmdbtype.String("GB"), "names": names("United Kingdom", "Vereinigtes Königreich")},
		"location":  mmdbtype.Map{"latitude": mmdbtype.Float64(51.5142), "longitude": mmdbtype.Float64(-0.0931), "accuracy_radius": mmdbtype.Uint16(10), "time_zone": mmdbtype.String("Europe/London")},
		"postal":    mmdbtype.Map{"code": mmdbtype.String("EC1A")},
		"subdivisions": mmdbtype.Slice{
			mmdbtype.Map{"iso_code": mmdbtype.String("ENG"), "names": names("England", "")}, mmdbtype.Map{"iso_code": mmdbtype.String("LND"), "names": names("City of London", "")},
		},
		"unheard_of": mmdbtype.Map{"x": mmdbtype.Uint32(1)},
	})
	return map[string]string{
		"db_city":      city,
		"db_country":   write(t, "GeoLite2-Country", "81.2.69.0/24", mmdbtype.Map{"country": mmdbtype.Map{"iso_code": mmdbtype.String("XX"), "is_in_european_union": mmdbtype.Bool(true)}}),
		"db_asn":       write(t, "GeoLite2-ASN", "2001:db8::/32", mmdbtype.Map{"autonomous_system_number": mmdbtype.Uint32(64500), "autonomous_system_organization": mmdbtype.String("Example")}),
		"db_anonymous": write(t, "GeoIP2-Anonymous-IP", "81.2.69.142/32", mmdbtype.Map{"is_anonymous": mmdbtype.Bool(true), "is_anonymous_vpn": mmdbtype.Bool(true), "is_tor_exit_node": mmdbtype.Bool(false)}),
	}
}

// Nutch's rule: nutch.md 2.7, index-geoip; keys: MaxMind's documentation of its
// databases.
func TestFilterDocument(t *testing.T) {
	dbs := databases(t)
	london := map[string][]string{
		"ip": {"81.2.69.1"}, "cityName": {"London"}, "cityGeoNameId": {"2643743"}, "continentCode": {"EU"}, "continentName": {"Europe"},
		"countryIsoCode": {"GB"}, "countryName": {"United Kingdom"}, "latLon": {"51.5142,-0.0931"}, "accuracyRadius": {"10"},
		"timeZone": {"Europe/London"}, "postalCode": {"EC1A"}, "mostSpecificSubdivisionIsoCode": {"LND"},
		"mostSpecificSubdivisionName": {"City of London"}, "leastSpecificSubdivisionIsoCode": {"ENG"}, "leastSpecificSubdivisionName": {"England"},
		"countryIsInEuropeanUnion": {"true"},
	}
	with := func(m map[string][]string, kv ...string) map[string][]string {
		out := map[string][]string{}
		for k, v := range m {
			out[k] = v
		}
		for i := 0; i < len(kv); i += 2 {
			out[kv[i]] = []string{kv[i+1]}
		}
		return out
	}
	for _, c := range []struct {
		name, language, ip, url string
		want                    map[string][]string
	}{
		{"city before country", "en", "81.2.69.1", "", london},
		{"names in German, English where there is none", "de", "81.2.69.1", "", with(london, "continentName", "Europa", "countryName", "Vereinigtes Königreich")},
		{"several databases", "en", "81.2.69.142", "", with(london, "ip", "81.2.69.142", "isAnonymous", "true", "isAnonymousVpn", "true")},
		{"IPv6", "en", "2001:db8::1", "", map[string][]string{"ip": {"2001:db8::1"}, "autonomousSystemNumber": {"64500"}, "autonomousSystemOrganization": {"Example"}}},
		{"IPv4 in IPv6", "en", "::ffff:81.2.69.1", "", london},
		{"address as host", "en", "", "http://[2001:db8::2]:80/", map[string][]string{"ip": {"2001:db8::2"}, "autonomousSystemNumber": {"64500"}, "autonomousSystemOrganization": {"Example"}}},
		{"unknown address", "en", "192.0.2.1", "", nil},
		{"no address", "en", "", "http://www.example.org/", nil},
		{"another IPv6 of the same network", "en", "2001:db8::ffff", "", map[string][]string{"ip": {"2001:db8::ffff"}, "autonomousSystemNumber": {"64500"}, "autonomousSystemOrganization": {"Example"}}},
		{"IPv6 written long", "en", "2001:0db8:0000:0000:0000:0000:0000:0001", "", map[string][]string{"ip": {"2001:db8::1"}, "autonomousSystemNumber": {"64500"}, "autonomousSystemOrganization": {"Example"}}},
		{"IPv6 in capitals", "en", "2001:DB8::1", "", map[string][]string{"ip": {"2001:db8::1"}, "autonomousSystemNumber": {"64500"}, "autonomousSystemOrganization": {"Example"}}},
		{"the fetch's address goes before the host", "en", "2001:db8::1", "http://81.2.69.1/", map[string][]string{"ip": {"2001:db8::1"}, "autonomousSystemNumber": {"64500"}, "autonomousSystemOrganization": {"Example"}}},
		{"address as host without port", "en", "", "http://81.2.69.1/x?y", london},
		{"address as host with user", "en", "", "http://me:pw@81.2.69.1:8080/", london},
		{"a language that no name has", "xx", "81.2.69.1", "", london},
		{"unspecified address", "en", "0.0.0.0", "", nil},
		{"loopback", "en", "127.0.0.1", "", nil},
		{"an address with a port is none", "en", "81.2.69.1:80", "", nil},
		{"octal is no address", "en", "081.02.069.01", "", nil},
		{"nonsense", "en", "localhost", "http://81.2.69.1/", nil},
	} {
		dbs["language"] = c.language
		in := &indexingfilter.Input{URL: c.url}
		if c.ip != "" {
			in.Datum.Metadata = model.Metadata{"_ip_": {c.ip}}
		}
		if d := cmp.Diff(c.want, libtest.FilterDocument(t, indexgeoip.Plugin(), settings(t, dbs), in).Set); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func TestMistakes(t *testing.T) {
	text := filepath.Join(t.TempDir(), "x.mmdb")
	if err := os.WriteFile(text, []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	for own, want := range map[string]string{
		settings(t, map[string]string{"db_isp": text}):                                          "db_isp: open database " + text,
		settings(t, map[string]string{"db_city": databases(t)["db_city"], "db_asn": "no/file"}): "db_asn: open database no/file",
	} {
		if _, err := libtest.New(t, indexgeoip.Plugin(), own); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", own, err)
		}
	}
}

func TestConformance(t *testing.T) {
	plugintest.Run(t, indexgeoip.Plugin(), plugintest.Options{Settings: settings(t, databases(t)), Index: []indexingfilter.Input{
		{URL: "http://81.2.69.1/"}, {Datum: model.CrawlDatum{Metadata: model.Metadata{"_ip_": {"81.2.69.142"}}}},
	}})
}
