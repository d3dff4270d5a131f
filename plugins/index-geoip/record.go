package indexgeoip

import "strconv"

// record is what any of MaxMind's databases may say of an address; its tags are
// the keys of dev.maxmind.com/geoip/docs/databases.
type record struct {
	City      place  `maxminddb:"city"`
	Continent place  `maxminddb:"continent"`
	Country   place  `maxminddb:"country"`
	Reg       place  `maxminddb:"registered_country"`
	Rep       place  `maxminddb:"represented_country"`
	Postal    postal `maxminddb:"postal"`
	Location  struct {
		Latitude   *float64 `maxminddb:"latitude"`
		Longitude  *float64 `maxminddb:"longitude"`
		Radius     uint64   `maxminddb:"accuracy_radius"`
		Metro      uint64   `maxminddb:"metro_code"`
		TimeZone   string   `maxminddb:"time_zone"`
		Income     uint64   `maxminddb:"average_income"`
		Population uint64   `maxminddb:"population_density"`
	} `maxminddb:"location"`
	Subdivisions []place `maxminddb:"subdivisions"`
	Traits       traits  `maxminddb:"traits"`
	// Databases other than those of places have their values at the top.
	ASN            uint64 `maxminddb:"autonomous_system_number"`
	ASOrganization string `maxminddb:"autonomous_system_organization"`
	ISP            string `maxminddb:"isp"`
	Organization   string `maxminddb:"organization"`
	MCC            string `maxminddb:"mobile_country_code"`
	MNC            string `maxminddb:"mobile_network_code"`
	Connection     string `maxminddb:"connection_type"`
	Domain         string `maxminddb:"domain"`
	Anonymous      bool   `maxminddb:"is_anonymous"`
	VPN            bool   `maxminddb:"is_anonymous_vpn"`
	Hosting        bool   `maxminddb:"is_hosting_provider"`
	PublicProxy    bool   `maxminddb:"is_public_proxy"`
	Residential    bool   `maxminddb:"is_residential_proxy"`
	Tor            bool   `maxminddb:"is_tor_exit_node"`
}

type place struct {
	Code       string            `maxminddb:"code"`
	ISO        string            `maxminddb:"iso_code"`
	ID         uint64            `maxminddb:"geoname_id"`
	Confidence uint64            `maxminddb:"confidence"`
	InEU       bool              `maxminddb:"is_in_european_union"`
	Type       string            `maxminddb:"type"`
	Names      map[string]string `maxminddb:"names"`
}

type postal struct {
	Code       string `maxminddb:"code"`
	Confidence uint64 `maxminddb:"confidence"`
}

type traits struct {
	AnonymousProxy bool   `maxminddb:"is_anonymous_proxy"`
	Satellite      bool   `maxminddb:"is_satellite_provider"`
	Anycast        bool   `maxminddb:"is_anycast"`
	UserType       string `maxminddb:"user_type"`
	ASN            uint64 `maxminddb:"autonomous_system_number"`
	ASOrganization string `maxminddb:"autonomous_system_organization"`
	Connection     string `maxminddb:"connection_type"`
	Domain         string `maxminddb:"domain"`
	ISP            string `maxminddb:"isp"`
	Organization   string `maxminddb:"organization"`
}

// fields gathers fields; the first database that has a value counts.
type fields map[string][]string

func (f fields) text(name, v string) {
	if _, ok := f[name]; !ok && v != "" {
		f[name] = []string{v}
	}
}

func (f fields) number(name string, n uint64) {
	if n != 0 {
		f.text(name, strconv.FormatUint(n, 10))
	}
}

func (f fields) flag(name string, v bool) {
	if v {
		f.text(name, "true")
	}
}

func (f fields) place(prefix string, p *place, language string) {
	name := p.Names[language]
	if name == "" {
		name = p.Names["en"]
	}
	f.text(prefix+"Name", name)
	f.text(prefix+"Code", p.Code)
	f.text(prefix+"IsoCode", p.ISO)
	f.number(prefix+"GeoNameId", p.ID)
	f.number(prefix+"Confidence", p.Confidence)
	f.flag(prefix+"IsInEuropeanUnion", p.InEU)
	f.text(prefix+"Type", p.Type)
}

// record adds what r says, under Nutch's names.
func (f fields) record(r *record, language string) {
	f.place("city", &r.City, language)
	f.place("continent", &r.Continent, language)
	f.place("country", &r.Country, language)
	f.place("registeredCountry", &r.Reg, language)
	f.place("representedCountry", &r.Rep, language)
	if n := len(r.Subdivisions); n > 0 {
		f.place("mostSpecificSubdivision", &r.Subdivisions[n-1], language)
		f.place("leastSpecificSubdivision", &r.Subdivisions[0], language)
	}
	f.text("postalCode", r.Postal.Code)
	f.number("postalConfidence", r.Postal.Confidence)
	l := &r.Location
	if l.Latitude != nil && l.Longitude != nil {
		f.text("latLon", strconv.FormatFloat(*l.Latitude, 'f', -1, 64)+","+strconv.FormatFloat(*l.Longitude, 'f', -1, 64))
	}
	f.number("accuracyRadius", l.Radius)
	f.number("metroCode", l.Metro)
	f.text("timeZone", l.TimeZone)
	f.number("averageIncome", l.Income)
	f.number("populationDensity", l.Population)
	f.network(r)
}

func (f fields) network(r *record) {
	t := &r.Traits
	f.number("autonomousSystemNumber", max(r.ASN, t.ASN))
	for _, v := range [...]struct{ name, top, trait string }{
		{"autonomousSystemOrganization", r.ASOrganization, t.ASOrganization},
		{"isp", r.ISP, t.ISP},
		{"organization", r.Organization, t.Organization},
		{"connectionType", r.Connection, t.Connection},
		{"domain_geoip", r.Domain, t.Domain}, // "domain" is index-basic's
		{"userType", "", t.UserType},
		{"mobileCountryCode", r.MCC, ""},
		{"mobileNetworkCode", r.MNC, ""},
	} {
		f.text(v.name, v.top)
		f.text(v.name, v.trait)
	}
	for _, v := range [...]struct {
		name string
		is   bool
	}{
		{"isAnonymous", r.Anonymous},
		{"isAnonymousVpn", r.VPN},
		{"isHostingProvider", r.Hosting},
		{"isPublicProxy", r.PublicProxy},
		{"isResidentialProxy", r.Residential},
		{"isTorExitNode", r.Tor},
		{"isAnonymousProxy", t.AnonymousProxy},
		{"isSatelliteProvider", t.Satellite},
		{"isAnycast", t.Anycast},
	} {
		f.flag(v.name, v.is)
	}
}
