// Package clients holds tests of the server with the official clients that are Go
// modules: the product does not link them.
package clients
