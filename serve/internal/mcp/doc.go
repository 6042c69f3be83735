// Package mcp offers models to agents by the Model Context Protocol
// (modelcontextprotocol.io), through its official Go library.
//
//	tool       argument → result
//	generate   prompt → text, with notifications of progress while it comes
//	embed      texts → vectors
//	explain    model → where its memory is and why, and what its last run told
//	plan       model → the program that runs it
//
//	resource                       content, as JSON
//	atenia://models                names of the models and what is known of them
//	atenia://models/{name}         one of them
//	atenia://decisions             what was decided for each model, and its last run
//	atenia://decisions/{name}      one of them
//
// A [Server] is one set of tools. [Server.Stdio] serves one client that started
// this program, [Server.Handler] any number of them over streamable HTTP. What goes
// wrong in a tool, a panic included, is a result with isError set, whose text says
// what to do differently: agents read it and try again. Only a message that is no
// valid request is an error of the protocol.
//
// The package uses the public API of package atenia alone.
package mcp
