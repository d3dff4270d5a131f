package testweb

// share is one alternative of an exclusive choice and its probability.
type share struct {
	kind uint8
	p    float64
}

// choose returns the alternative that x in [0,1) falls into, or 0.
func choose(from []share, x float64) uint8 {
	for _, s := range from {
		if x < s.p {
			return s.kind
		}
		x -= s.p
	}
	return 0
}

// fate is what happens to who asks for a leaf page.
type fate = uint8

const (
	fateOK fate = iota
	fateRedirect
	fateLoop
	fateRefresh
	fateNotFound
	fateUnauthorized
	fateForbidden
	fateTooMany
	fateFlaky
	fateError
	fateDuplicate
	fateNear
	fateWrongType
	fateTruncated
	fateText
	fateNoFollow
	fateNoIndex
	fateOriginal // what duplicates are duplicates of; drawn by position, not by share
)

func (s *Shares) fates() []share {
	return []share{
		{fateRedirect, s.Redirect},
		{fateLoop, s.RedirectLoop},
		{fateRefresh, s.MetaRefresh},
		{fateNotFound, s.NotFound},
		{fateUnauthorized, s.Unauthorized},
		{fateForbidden, s.Forbidden},
		{fateTooMany, s.TooMany},
		{fateFlaky, s.FlakyError},
		{fateError, s.ServerError},
		{fateDuplicate, s.Duplicate},
		{fateNear, s.NearDuplicate},
		{fateWrongType, s.WrongType},
		{fateTruncated, s.Truncated},
		{fateText, s.PlainText},
		{fateNoFollow, s.NoFollow},
		{fateNoIndex, s.NoIndex},
	}
}

// style is the form of a leaf page's path.
type style = uint8

const (
	styleHTML style = iota
	styleBare
	styleQuery
	stylePrivate
	styleCGI
	styleText // text/plain pages; drawn by fate, not by share
)

func (s *Shares) styles() []share {
	return []share{{styleBare, s.PathBare}, {styleQuery, s.PathQuery}, {stylePrivate, s.PathPrivate}, {styleCGI, s.PathCGI}}
}

// robotsKind is how a host answers for /robots.txt.
type robotsKind = uint8

const (
	robotsNone robotsKind = iota
	robotsAllow
	robotsSome
	robotsDelay
	robotsDenyAll
	robots4xx
	robotsError
	robotsFlaky
	robotsRedirect
	robotsLoop
	robotsHuge
	robotsGarbage
)

func (s *Shares) robots() []share {
	return []share{
		{robotsAllow, s.RobotsAllow},
		{robotsSome, s.RobotsSome},
		{robotsDelay, s.RobotsDelay},
		{robotsDenyAll, s.RobotsDenyAll},
		{robots4xx, s.Robots4xx},
		{robotsError, s.RobotsError},
		{robotsFlaky, s.RobotsFlaky},
		{robotsRedirect, s.RobotsRedirect},
		{robotsLoop, s.RobotsLoop},
		{robotsHuge, s.RobotsHuge},
		{robotsGarbage, s.RobotsGarbage},
	}
}

// each returns every share there is.
func (s *Shares) each() []float64 {
	all := []float64{
		s.Charset, s.Gzip, s.Changing, s.NoValidator, s.MessyLinks, s.NoFollowLinks, s.UniformLinks,
		s.Slow, s.Dead, s.Abrupt, s.Dying, s.Sitemap, s.Trap,
	}
	for _, group := range [][]share{s.fates(), s.styles(), s.robots()} {
		for _, v := range group {
			all = append(all, v.p)
		}
	}
	return all
}
