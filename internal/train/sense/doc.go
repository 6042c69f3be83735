// Package sense shows images and sounds to a model in training, through its frozen
// encoders.
//
//	files ─ Show, Hear ─▶ Media of a document ─ Fill ─▶ rows in a tape.Batch
//
// When data is read, images are only measured: their size says how many places of a
// text they take. Their rows are made when a batch has them, and the last ones are
// kept, so that memory does not grow with the data. Encoders are not trained: rows
// are the same in every epoch, bit for bit, with any number of threads.
//
// [Encoder] says of a model that is an encoder of texts itself what it learns from.
package sense
