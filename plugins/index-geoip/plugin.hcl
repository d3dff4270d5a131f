id      = "index-geoip"
name    = "Places of servers"
version = "1.0.0"
api     = 1

provide "indexingfilter" {
  extension = "GeoIPIndexingFilter"
}

setting "db_anonymous" {
  type    = "file"
  default = ""
  meaning = "MaxMind database of anonymous networks (GeoIP2-Anonymous-IP.mmdb)."
  nutch   = "index.geoip.db.anonymous"
}

setting "db_asn" {
  type    = "file"
  default = ""
  meaning = "MaxMind database of autonomous systems (GeoLite2-ASN.mmdb)."
  nutch   = "index.geoip.db.asn"
}

setting "db_city" {
  type    = "file"
  default = ""
  meaning = "MaxMind database of cities (GeoLite2-City.mmdb)."
  nutch   = "index.geoip.db.city"
}

setting "db_connection" {
  type    = "file"
  default = ""
  meaning = "MaxMind database of connection types."
  nutch   = "index.geoip.db.connection"
}

setting "db_country" {
  type    = "file"
  default = ""
  meaning = "MaxMind database of countries (GeoLite2-Country.mmdb)."
  nutch   = "index.geoip.db.country"
}

setting "db_domain" {
  type    = "file"
  default = ""
  meaning = "MaxMind database of domains."
  nutch   = "index.geoip.db.domain"
}

setting "db_isp" {
  type    = "file"
  default = ""
  meaning = "MaxMind database of providers."
  nutch   = "index.geoip.db.isp"
}

setting "language" {
  type    = "string"
  default = "en"
  meaning = "Language of the names of places; where a name lacks it, English."
}
