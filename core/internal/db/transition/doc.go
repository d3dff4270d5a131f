// Package transition owns the state machine of a CrawlDB record: what a
// record becomes after a fetch, a link or a seed. It is Nutch's CrawlDbReducer
// and Injector as pure functions: records and times in, records out, nothing
// shared between argument and result. It must not know the store, scoring
// plugins (scores pass through) or how a page was fetched.
//
// It differs from Nutch on purpose where Nutch loses pages:
//
//   - A signature is compared only with that of content the CrawlDB still
//     stands for: gone, redirect and failed parse clear it (the old one stays in
//     PrevSignature). Else a page that comes back unchanged would be
//     "not modified" although it has left the index.
//   - Those states also drop the validators, so that the next request is
//     unconditional and can't be answered 304 for content that is not there.
//   - A page without a parser, truncated or badly parsed says so in its
//     metadata (MetaParseStatus) whatever the settings.
//   - The forced refetch of a page with too long an interval changes neither
//     status nor signature (see package schedule).
//   - An outcome other than retry resets the retry count.
package transition
