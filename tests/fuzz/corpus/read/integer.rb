Three unknowns                                                          KEY     
             4             1             1             2
isa            3  3  5  0
(4I1)(5I1)(5I2)
1356
12233
 4 1 0 2 5
