package testweb

import "math"

// page is what is drawn for one page of a host, apart from its links and text.
type page struct {
	fate  fate
	style style
	n     uint8 // redirects of a chain, URLs of a loop, failures before recovery, seconds of a refresh
	code  int   // HTTP status where the fate leaves a choice; of the first failure
	bait  bool  // holds a link that must not be followed
	odd   oddity
	// Where the content comes from: itself, or the original of a duplicate.
	srcHost, srcPage int32
}

// oddity is what is added to an HTML page.
type oddity struct {
	charset   uint8 // index into charsets, 0 for UTF-8 named in header and meta
	declared  declaration
	gzip      bool
	validator bool
	every     uint8 // changes every so many requests; 0 never
}

// page draws page p of host h.
func (w *Web) page(h, p int32) page {
	pg := page{srcHost: h, srcPage: p}
	s := &w.cfg.Shares
	r := w.rng(saltPage, h, p)
	f, st, odd := r.float(), r.float(), r
	switch p % section {
	case 0: // an index is always a plain page
		pg.odd = w.oddity(&odd)
		return pg
	case 1:
		pg.fate = fateOriginal
		pg.odd.validator = true
		return pg
	}
	pg.fate, pg.style = choose(w.fateShares, f), choose(w.styleShares, st)
	switch pg.fate {
	case fateText:
		pg.style = styleText
		pg.odd.validator = true
	case fateOK, fateNoFollow, fateNoIndex, fateTooMany, fateFlaky:
		pg.odd = w.oddity(&odd)
		pg.bait = pg.fate == fateNoFollow || odd.float() < s.NoFollowLinks
	case fateDuplicate, fateNear:
		pg.srcHost, pg.srcPage = w.original(&odd, h)
		pg.odd.validator = true
	}
	w.drawDetails(&pg, &odd)
	return pg
}

func (w *Web) drawDetails(pg *page, r *rng) {
	switch pg.fate {
	case fateRedirect:
		pg.n = 1
		if r.float() < 0.3 {
			pg.n = uint8(2 + r.below(5))
		}
	case fateLoop:
		pg.n = uint8(1 + r.below(3))
	case fateRefresh:
		pg.n = uint8(r.below(10))
	case fateNotFound:
		pg.code = 404
		if r.float() < 0.15 {
			pg.code = 410
		}
	case fateUnauthorized:
		pg.code = 401
	case fateForbidden:
		pg.code = 403
	case fateTooMany:
		pg.n, pg.code = uint8(1+r.below(2)), 429
	case fateFlaky:
		pg.n = uint8(1 + r.below(2))
		fallthrough
	case fateError:
		pg.code = [...]int{500, 502, 503, 504}[r.below(4)]
	}
}

func (w *Web) oddity(r *rng) (o oddity) {
	s := &w.cfg.Shares
	if r.float() < s.Charset {
		o.charset = uint8(r.below(int32(len(w.charsets))))
		o.declared = declaration(r.below(declarations))
	}
	o.gzip = r.float() < s.Gzip
	o.validator = r.float() >= s.NoValidator
	if r.float() < s.Changing {
		o.every = uint8(1 + r.below(3))
	}
	return o
}

// original draws the page that a duplicate on host h repeats: the second page of
// a section, on h or on another host.
func (w *Web) original(r *rng, h int32) (int32, int32) {
	if r.float() < 0.3 {
		if other := r.skewed(int32(len(w.hosts))); w.hosts[other].size > 1 {
			h = other
		}
	}
	sections := (w.hosts[h].size-2)/section + 1 // that have a second page
	return h, r.below(sections)*section + 1
}

// size returns the length in bytes that an HTML page should have.
func (w *Web) size(h, p int32) int {
	switch w.cfg.PageSize {
	case Size6KB:
		return 6 << 10
	case Size50KB:
		return 50 << 10
	}
	// Log-normal by Box-Muller; rounded so that the last bits of a float don't matter.
	const median, sigma = 25_000, 1.0
	r := w.rng(saltSize, h, p)
	z := math.Sqrt(-2*math.Log(1-r.float())) * math.Cos(2*math.Pi*r.float())
	n := int(median*math.Exp(sigma*z)) &^ 63
	return min(max(n, 512), 1<<20)
}
