// Package stores has the rows of sections 4.4, 4.5 and 4.9 about what Quila
// remembers with: tiers, libraries of key features, context trees, queues,
// channels, the hashed memory and the persona.
package stores
