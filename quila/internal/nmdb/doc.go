// Package nmdb is the bus that carries what is not a neuron's: the peripheral
// channels of text, images and audio, apart from each other, and the containers
// in which they travel (§9.5, [R-9.7]).
//
//	b, err := nmdb.Open(nmdb.Config{Memory: m, Quotas: quotas})
//	err = b.Put(ctx, nmdb.Text, key, data)
//	data, err = b.Get(ctx, nmdb.Text, key)
//	err = b.Archive()                     // everything is on disk, small
//
//	Bus        the channels; each has a quota and gives up what it used least recently
//	Channel    Text, Image or Audio; the frames of a video are images
//	Container  CIC, chunks of several channels in one stream of bytes
//
//	        Put ─▶ L3, within the channel's quota ◀── Get
//	                 │ least recently used       ▲
//	                 ▼                           │
//	               L5, zstd 3 ── Archive ─▶ zstd 19
//
// What a channel evicts never takes room from another. What was archived, and
// what went to L5, survives a kill; a page that is in RAM alone does not.
//
// # Containers
//
//	CIC{uint32 version=1; repeated Channel channels=2; repeated Frame frames=3}
//	Channel{uint32 id=1; string name=2; Kind kind=3; uint64 n_chunks=4; map<string,string> meta=5}
//	Frame{uint32 channel=1; uint64 seq=2; bytes chunk=3}
//
// A container has one encoding: fields ascending, channels by id, frames by number
// and channel, maps by key, nothing that has its default value. [Parse] refuses any
// other, so that taking a container apart and putting it together gives the same
// bytes. Chunks are not copied: they are slices of what was parsed.
package nmdb
