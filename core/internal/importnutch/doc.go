// Package importnutch makes a crawl of ours of one that Apache Nutch 1.x left: CrawlDb, LinkDb and segments with their documents.
//
// It owns Nutch's Writables (package org.apache.nutch, versions as of Nutch 0.9 to 1.22), the layout of its folders, and which of our records each
// becomes. It must not know Hadoop's file formats (package hadoop), configuration, or plugins. Nothing is fetched, normalized or
// filtered: URLs stay as Nutch had them.
//
// What is read in which order: the CrawlDb in batches; the segments from the newest to the oldest, each as a join of its parts
// by URL, which MapFiles have sorted; the LinkDb. So memory does not grow with the crawl.
//
// How far a page is follows from its times, as Nutch notes it nowhere: when its record in the CrawlDb is not due after
// the fetch, updatedb was not run since. Such a page is leased in its segment, and the next "run" or "updatedb" goes on there.
package importnutch
