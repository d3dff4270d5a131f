package testweb

// rng is a splitmix64 generator (Steele, Lea, Flood: Fast Splittable Pseudorandom
// Number Generators, 2014). Its state is a value; copies go on independently.
type rng uint64

func (r *rng) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	return finish(uint64(*r))
}

// float returns a number in [0,1).
func (r *rng) float() float64 { return float64(r.next()>>11) / (1 << 53) }

// below returns a number in [0,n); n must be positive. The bias of 2^-32 is of no matter here.
func (r *rng) below(n int32) int32 {
	return int32((r.next() >> 32) * uint64(n) >> 32)
}

// skewed returns a number in [0,n) whose density falls as a power law:
// floor(n·u³) makes rank x as likely as x^(-2/3).
func (r *rng) skewed(n int32) int32 {
	u := r.float()
	return int32(float64(n) * (u * u * u))
}

func finish(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// salt separates the streams of random numbers drawn for the same page.
type salt uint64

const (
	saltHost salt = iota + 1
	saltPage
	saltLinks
	saltText
	saltSize
	saltTarget
	saltCode
	saltMeta
	saltVocabulary
	saltShuffle
)

// rng returns the stream of (seed, salt, a, b).
func (w *Web) rng(s salt, a, b int32) rng { return stream(w.cfg.Seed, s, a, b) }

func stream(seed uint64, s salt, a, b int32) rng {
	return rng(finish(finish(seed^uint64(s)*0xd6e8feb86659fd93) ^ (uint64(uint32(a))<<32 | uint64(uint32(b)))))
}
