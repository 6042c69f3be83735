// Package manifest reads and writes what a library of C nodes says of itself,
// in a file beside it, so that a catalogue of nodes needs no library loaded:
//
//	filters.amp.so
//	filters.amp.json    {"abi": [2, 0], "sha256": "…", "vendor": "…", "version": "1.2",
//	                     "isolate": false,
//	                     "nodes": [{"type": "OnePole", "inputs": ["in"], "outputs": ["out"],
//	                                "params": ["a", "thermo.heat"], "caps": ["v2", "backward", "f64"],
//	                                "oversample_ratio": 1, "declared_delay": 0, "jacobian": "toeplitz"}]}
//
// Inputs, outputs and params may be numbers as well; their names are then in0,
// out0, p0 and so on. Unknown keys and capabilities are left alone, as a later
// minor version may have them. Manifests come from outside: [Parse] bounds what
// it reads and says where a fault is.
package manifest
