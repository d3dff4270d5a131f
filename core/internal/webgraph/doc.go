// Package webgraph is the graph of the links between pages, and between their
// hosts: how it is built, kept, ranked and read.
//
// It owns a folder with the graph as files, the external sorting that builds
// them, and the algorithms: Nutch's LinkRank, PageRank, harmonic centrality. It
// must not know the store, the CrawlDB, plugins or where links come from: pages
// are handed to a Builder in the order of their URL keys, and what is made of the
// scores is the caller's matter.
//
// # Files
//
// A graph is a folder; numbers are little-endian. Nodes are numbered in the order
// of their URL keys, so that a host's pages are neighbours.
//
//	meta.json            Meta: counts, rules, version
//	nodes.keys           the keys, each ended by a NUL byte
//	nodes.off            uint64 by node, and one more: where its key begins
//	out.off, out.adj     compressed sparse rows: uint64 by node, and one more: index
//	                     of its first link; uint32 by link: the target, ascending
//	in.off, in.adj       the same for inlinks; bit 31 marks an inlink that LinkRank
//	                     passes over (link.ignore.limit.*)
//	hosts/               the host graph in the same form (a key is HostKey), and
//	hosts/first          uint32 by host, and one more: its first page's node
//	scores.NAME          float64 by node; scores.json tells how they came about
//
// # Memory
//
// Building holds sort buffers (Options.Memory) and the first node of each host;
// ranking 16 bytes a node. Links are only ever streamed from the disk.
package webgraph
