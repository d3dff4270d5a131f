// Package manifest reads plugin.hcl, the description of a plugin that can be
// read without starting it. It owns the manifest's form and meaning, and the
// types of settings, which the core's own settings share; it must not know
// processes, the wire or the core.
//
// A manifest with everything in it; id, name, version, api and one provide are
// demanded:
//
//	id           = "urlfilter-mine"     # lower-case words joined by "-"
//	name         = "My URL filter"
//	version      = "1.0.0"
//	api          = 1                    # of the plugin contract
//	command      = ["bin/mine"]         # in the plugin's folder; built-ins have none
//	concurrency  = 8                    # calls at once
//	memory_limit = "512MiB"             # of the whole process group
//	cache        = true                 # normalizers and filters: answers may be remembered
//	on_demand    = false                # start with the first record instead of with the crawl
//	requires     = ["lib-other"]        # ids of plugins that must be chosen too
//	sections     = ["http"]             # sections of the core's configuration sent along
//
//	provide "urlfilter" {               # extension point; one block for each
//	  extension = "MyFilter"            # the id when left out
//	}                                   # protocol: schemes = [...]; parser: mime_types = [...];
//	                                    # indexingfilter: parse_meta = [...]
//
//	needs {                             # costly inputs
//	  content  = false                  # page bytes
//	  inlinks  = false
//	  outlinks = false
//	  text     = false
//	  orphans  = false                  # scoring: judge records without inlinks
//	  fact "selector" {                 # parsefilter: meta, heading, rel, jsonld, selector, script
//	    arg  = "h1"
//	    attr = "id"
//	    max  = 3
//	  }
//	  fact "meta" {
//	    setting = "names"               # one fact for each element of this list or map setting
//	  }
//	}
//
//	field "cash" {                      # scoring: a score field
//	  reducer = "add"                   # add, min, max or first
//	  meaning = "Cash not yet handed on."
//	}
//
//	setting "limit" {                   # of plugin "urlfilter-mine" { ... }
//	  type    = "duration"              # string, bool, int, float, duration, size, list, map, file
//	  default = "5s"
//	  meaning = "How long one URL may take."
//	  nutch   = "urlfilter.mine.limit (ms)"  # Nutch's property and its unit, if there is one
//	  min     = "1ms"                   # and max, one_of = [...], off = true (-1 is allowed),
//	}                                   # secret = true (never shown)
//
//	block "site" {                      # plugin "urlfilter-mine" { site "any name" { hosts = [...] } },
//	  meaning = "What holds for some hosts."  # as many as the user wants
//	  setting "hosts" { ... }
//	}
//
//	parameter "url" { ... }             # indexwriter and exchange: as setting, for each instance;
//	                                    # without one an instance may set what setting blocks name
package manifest

// APIVersion is the version of the plugin contract that this SDK speaks.
const APIVersion = 1

// Reducer says how the effects on a score field are merged.
type Reducer string

// The reducers. All are commutative and associative; First keeps the operand
// of the smallest source URL key.
const (
	Add   Reducer = "add"
	Min   Reducer = "min"
	Max   Reducer = "max"
	First Reducer = "first"
)

// Manifest is a plugin's description.
type Manifest struct {
	ID       string // such as "urlfilter-regex"; lower case, prefix names the main extension point
	Name     string // for people
	Version  string
	API      int
	Command  []string // how to start it, relative to the plugin's folder; empty for built-ins
	Provides []Provide
	Needs    Needs
	// Concurrency is how many calls the plugin takes at once; 0 means the
	// core's default.
	Concurrency int
	// Cache says whether answers of normalizers and filters may be cached;
	// true unless the manifest says cache = false.
	Cache bool
	// OnDemand says that the plugin is rarely wanted: its process is started by the
	// first record for it, not with the crawl, unless the user has set settings of it.
	OnDemand    bool
	MemoryLimit int64 // bytes for the whole process group; 0 means plugin.memory_limit
	Requires    []string
	Fields      []Field
	Sections    []string // configuration sections of the core sent along, such as "http"
	Settings    []Setting
	Blocks      []Block
	// Parameters are those of each configured instance: index_writer "name" and
	// exchange "name" blocks. When there are none, an instance may set what
	// Settings lists, and the plugin block holds for what it leaves out.
	Parameters []Setting
	Source     []byte // the manifest's bytes, compared with what the running plugin returns
	File       string // where it was read from, for messages
}

// Provide is one extension of the plugin.
type Provide struct {
	Point     string   // extension point, such as "urlfilter"
	Extension string   // extension id, the plugin's id when not given
	Schemes   []string // protocol: URL schemes
	MIMETypes []string // parser: MIME types, "*" for any
	// ParseMeta are, for an indexing filter, keys of the parse metadata: documents
	// without any of them are not shown to it. Empty means all documents.
	ParseMeta  []string
	Parameters map[string]string
}

// Needs are costly inputs a plugin asks for.
type Needs struct {
	Content  bool
	Inlinks  bool
	Outlinks bool
	Text     bool
	Orphans  bool
	Facts    []Fact // Manifest.Facts resolves those that settings give
}

// Field is a score field.
type Field struct {
	Name    string
	Reducer Reducer
	Meaning string
}

// Block is a kind of named blocks inside the plugin "<id>" block, such as
// site "intranet" { ... }. The plugin gets them among its own settings as an
// object of objects: {"site": {"intranet": {...}}}, defaults filled in.
type Block struct {
	Name     string
	Meaning  string
	Settings []Setting
	Line     int
}

// Type is the type of a setting.
type Type string

// The types of settings. A file's value is a path; the core resolves it
// against the folder of the configuration file that named it, and its bytes
// count as part of the plugin's configuration.
const (
	String   Type = "string"
	Bool     Type = "bool"
	Int      Type = "int"
	Float    Type = "float"
	Duration Type = "duration"
	Size     Type = "size"
	List     Type = "list" // of strings
	Map      Type = "map"  // of strings
	File     Type = "file"
)

// Setting is one setting of the plugin "<id>" block, one parameter of an
// instance (index_writer and exchange blocks), or one setting of the core.
type Setting struct {
	Name    string
	Type    Type
	Default any // string, bool, int64, float64, []string, map[string]string or nil, by Type; durations and sizes as written
	Meaning string
	Nutch   string // the Nutch property it stands for, or ""
	// NutchUnit is the unit of Nutch's bare numbers ("s", "ms", "min", "h", "d",
	// "bytes"), or for texts how Nutch's values are called here
	// ("AdaptiveFetchSchedule=adaptive, ..."), or "".
	NutchUnit string
	OneOf     []string // the texts allowed; nil for any
	Min, Max  string   // bounds, written as the type is; "" for none
	Off       bool     // -1 is allowed too and means off or no limit
	Secret    bool     // redacted wherever configuration is shown
	Line      int
}
