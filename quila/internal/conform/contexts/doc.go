// Package contexts has the rows of sections 4.1, 4.2, 4.5 and 4.9 about what Quila
// knows beside the libraries of its neurons: context trees, queues, channels and
// their containers, the hashed memory and the persona.
package contexts
