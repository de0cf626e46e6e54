Three unknowns                                                          KEY     
             4             1             1             2
cha            2  2  2  0
(3I1)(2I1)(4F3.0)
133
12
 1. 0. 2. 3.
