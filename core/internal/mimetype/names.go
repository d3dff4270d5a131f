package mimetype

import (
	"net/url"
	"path"
	"strings"
)

// fromName goes by the ending of the URL's path. The types a crawl meets most
// are named here because the system's table differs between machines.
func fromName(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	ext := strings.ToLower(path.Ext(u.Path))
	if ext == "" || ext == "." {
		return ""
	}
	return first(textName(ext), officeName(ext), byExtension(ext))
}

func textName(ext string) string {
	switch ext {
	case ".html", ".htm", ".shtml", ".php", ".asp", ".aspx", ".jsp":
		return html
	case ".xhtml", ".xht":
		return xhtmlType
	case ".txt", ".text", ".log", ".rst":
		return plain
	case ".md", ".markdown":
		return "text/markdown"
	case ".xml":
		return xmlType
	case ".rss":
		return "application/rss+xml"
	case ".atom":
		return "application/atom+xml"
	case ".json":
		return jsonType
	case ".jsonld":
		return "application/ld+json"
	case ".geojson":
		return "application/geo+json"
	case ".jsonl", ".ndjson":
		return "application/jsonl"
	case ".yaml", ".yml":
		return "application/yaml"
	case ".toml":
		return "application/toml"
	case ".tsv":
		return "text/tab-separated-values"
	case ".js", ".mjs":
		return "text/javascript"
	case ".css":
		return "text/css"
	case ".csv":
		return "text/csv"
	case ".svg":
		return "image/svg+xml"
	case ".rtf":
		return "application/rtf"
	}
	return ""
}

func officeName(ext string) string {
	switch ext {
	case ".pdf":
		return "application/pdf"
	case ".epub":
		return "application/epub+zip"
	case ".doc", ".dot":
		return "application/msword"
	case ".xls", ".xlt":
		return "application/vnd.ms-excel"
	case ".ppt", ".pps":
		return "application/vnd.ms-powerpoint"
	case ".docx":
		return ooxml + "wordprocessingml.document"
	case ".dotx":
		return ooxml + "wordprocessingml.template"
	case ".docm":
		return "application/vnd.ms-word.document.macroenabled.12"
	case ".xlsx":
		return ooxml + "spreadsheetml.sheet"
	case ".xltx":
		return ooxml + "spreadsheetml.template"
	case ".xlsm":
		return "application/vnd.ms-excel.sheet.macroenabled.12"
	case ".pptx":
		return ooxml + "presentationml.presentation"
	case ".ppsx":
		return ooxml + "presentationml.slideshow"
	case ".potx":
		return ooxml + "presentationml.template"
	case ".pptm":
		return "application/vnd.ms-powerpoint.presentation.macroenabled.12"
	case ".odt":
		return odf + "text"
	case ".ott":
		return odf + "text-template"
	case ".ods":
		return odf + "spreadsheet"
	case ".odp":
		return odf + "presentation"
	case ".odg":
		return odf + "graphics"
	case ".fodt":
		return odf + "text-flat-xml"
	case ".zip":
		return zipType
	case ".gz", ".tgz":
		return "application/gzip"
	}
	return ""
}
