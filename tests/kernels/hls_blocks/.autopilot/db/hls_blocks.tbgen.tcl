# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
set C_modelArgList {
	{ a int 12 regular {array 19 { 1 1 } 1 1 }  }
	{ c int 8 regular {array 19 { 0 3 } 0 1 }  }
}
set C_modelArgMapList {[
	{ "Name" : "a", "interface" : "memory", "bitwidth" : 12, "direction" : "READONLY"} ,
	{ "Name" : "c", "interface" : "memory", "bitwidth" : 8, "direction" : "WRITEONLY"} ]}
