// Package corpus reads the text that models and vocabularies learn from.
//
//	file             a document is                                  [Document]
//	*.jsonl          a line {"text": "…"}                           Text
//	                 a line {"messages": [{"role": …}, …]}          Messages, Tools
//	anything else    the whole file, in pieces of a mebibyte        Text, More
//
// Files are read one after the other, a line or a piece at a time, so that
// they may be larger than memory. What is wrong is an [*Error] with file and
// line.
package corpus
