Three unknowns                                                          KEY     
             4             1             1             2
csa            2  2  2  0
(3I1)(2I1)(2(2F3.0))
133
12
 1.-1. 2. 3.
