Three unknowns                                                          KEY     
             4             1             1             2
psa            2  2  2  0
(3I1)(2I1)
133
12
