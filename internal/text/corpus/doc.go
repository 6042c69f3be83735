// Package corpus reads text for training models and vocabularies.
//
//	file             a document is                                  [Document]
//	*.jsonl          a line {"text": "…"}                           Text
//	                 a line {"messages": [{"role": …}, …]}          Messages, Tools
//	                 a line {"audio": "a.wav", "text": "…"}         Text, Audio, Language, Task
//	                 a line {"query": "…", "positive": "…"}         Pair
//	                 a line {"query": …, "document": …, "label": 1} Pair
//	                 a line {"text": "…", "label": 1}               Text, Pair
//	anything else    the whole file, in pieces of a mebibyte        Text, More
//
// Files are read in sequence, a line or a piece at a time, so that they may be
// larger than memory. Errors are [*Error] with file and line.
package corpus
