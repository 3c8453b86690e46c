"""English words by how often people use them, and a few of those who write software."""

from typing import Final

VERY_COMMON: Final = """
able above across again against air almost along already also although always among another
anybody anyone anything area around art ask away back bad be because become begin behind believe
below best better between big body book both bring business call car case change child city come
company country day different do door during each early education eight end even every everybody
everyone everything eye face fact family father feel few find first five force four free friend
game get girl give go good great group guy hand happen have head health hello help here hey hi
high history home hour house however hundred idea important information issue job just keep kind
know large last later law leave let level life like line little live long look lot make man many
maybe mean member minute moment money month more morning mother move much name need never new next
night nine nothing now number office often oh okay old one only other others own parent part party
people person place please point power president problem program public put question real really
reason research result right room run same say school second see seem service seven several show
side since six small somebody someone something soon start state still story student study sure
system take talk teacher team tell ten thank thanks there therefore thing think third thousand
three time today together tomorrow toward towards try turn two use very want war water way week
well within without woman word work world wow yeah year yes yesterday young
"""
COMMON: Final = """
accept access accident account achieve act action active activity actual actually add address
admit adult advice affect afford afraid age agency agent ago agree ahead aim allow alone amazing
amount animal answer apart apartment appear apple apply appreciate approach argue arm army arrive
article aside assume attack attempt attend attention attitude author authority available average
avoid aware awesome baby bag ball band bank bar base basic basis bathroom beach bear beat
beautiful bed bedroom beginning behavior benefit beyond bike bill bird birth birthday bit black
blood blow blue board boat born boss bottle bottom box boy brain branch break breakfast bright
brother brown budget build building burn bus busy button buy buyer camera camp campaign candidate
capital card care career careful carry cat catch cause celebrate cell center central century
certain certainly chair challenge chance character charge charity cheap check chicken chief choice
choose church citizen class classic clean clear clearly client climb clock close clothes cloud
club coach coast coat coffee cold collect collection college color combine comfort comfortable
commercial common communicate communication community compare comparison compete competition
complete completely complex computer concept concern condition conference confidence confirm
connect connection consider consist contact contain content continue contract contribute control
conversation cook cool copy corner correct cost count couple courage course court cover crazy
create creative crime cross crowd cry culture cup current currently customer cut cute dad daily
damage dance danger dangerous dark data date daughter dead deal dear death debate decade decide
decision deep definitely degree delay deliver demand department depend describe design desire desk
despite detail determine develop development device die difference difficult dinner direct
direction director dirty disappear discover discuss discussion disease dish distance divide doctor
dog dollar double doubt draw dream dress drink drive driver drop dry due dust duty ear earn earth
easily east easy eat economic economy edge effect effective effort egg either election electric
element else email emotion emotional employ employee empty encourage energy engine engineer
english enjoy enough enter entire environment equal equipment escape especially establish evening
event eventually everywhere evidence exactly exam examine example excellent except exchange
excited exciting excuse exercise exist expand expect expense expensive experience expert explain
explore express expression extra extreme fail failure fair fall familiar famous fan fantastic far
farm fashion fast fat favor favorite fear feature fee feed feedback feeling festival field fight
figure file fill film final finally financial fine finger finish fire firm fish fit fix flag flat
flight floor flow flower fly focus folk follow food foot football foreign forest forever forget
form former forward frame freedom fresh fruit full fully fun function fund funny furniture future
gain garden gas gather general generally generation gentle gift glad glass global goal gold golden
government grade grand grandfather grandmother grass gray green grey ground grow growth guess
guest guide guitar gun habit hair half hall hang happiness happy hard hardly hat hate hear heart
heat heavy height hide highly hike hill hire hit hobby hold hole holiday honest honestly hope
horse hospital host hot hotel huge human hunt hurt husband ice identify ignore ill image imagine
immediate immediately impact improve improvement incident include including income increase
incredible indeed independent indicate individual industry influence inform inner inside inspire
instance instead institution instrument interest interested interesting international internet
interview introduce invest investment invite involve island item itself jacket join joke journey
joy judge juice jump key kick kid kill kitchen knee knock knowledge lack lady lake land language
late latter laugh lawyer lay lazy lead leader leadership leaf learn least leg legal lesson letter
library lie lift light likely limit link lip list listen literature local location lock lonely
lose loss loud love lovely low luck lucky lunch machine magazine mail main maintain major majority
male manage management manager map mark market marriage married marry master match material matter
meal measure meat media medical medicine meet meeting memory mental mention menu mess message
metal method middle mile milk million mind mine miss mistake mix model modern mom mood moon mostly
mountain mouth movement movie music musical mystery narrow nation national natural nature near
nearby nearly necessary neck negative neighbor neighborhood nervous network news newspaper nice
noise none normal normally north nose note notice novel obvious occasion occur ocean offer officer
official oil online open operate operation opinion opportunity option orange order ordinary
organization organize original otherwise outdoor outside overall owner pack page pain paint
painting pair paper park particular particularly partner pass passion past path patient pattern
pay peace pen perfect perform performance perhaps period permission personal pet phone photo
physical piano pick picture piece pink pizza plan plane planet plant plastic plate play player
pleasant pleasure plenty plus poem poet police policy political politics pool poor pop popular
population position positive possible possibly post pot potential pound practice prefer prepare
present press pressure pretty prevent previous price pride prince print private prize probably
process produce product production professional professor profit progress project promise promote
proper property protect proud prove provide pull purchase purple purpose push quality quarter
quick quickly quiet quite race radio rain raise range rare rate rather reach react read reader
ready reality realize receive recent recently recipe recognize recommend record red reduce refer
reflect regular relate relationship relax religion religious remain remember remind remove rent
repeat replace reply report represent request require respect respond response responsible rest
restaurant return reveal rich ride ring rise risk river road rock role roof rough round route row
rule rush sad safe safety sail salad salary sale salt sand satisfy save scale scene schedule
science scientist score screen sea search season seat secret section secure security seek select
self sell send senior sense sentence separate serious serve set settle shake shape share sharp
sheet shelter shine ship shirt shoe shoot shop short shot shoulder shout shut shy sick sight sign
significant silence silly similar simple simply sing singer single sister sit site situation size
skill skin sky sleep slightly slow slowly smart smell smile smoke smooth snow social society soft
software soldier solution solve somewhere son song sort soul sound soup source south space speak
special specific speech speed spend spirit spot spread spring square staff stage stair stand
standard star statement station stay steal step stick stock stone stop store storm straight
strange stranger strategy street strength stress stretch strike strong structure struggle style
subject succeed success successful such sudden suddenly suffer sugar suggest suggestion suit
summer sun supply support suppose surface surprise surround survey survive sweet swim symbol table
talent target task taste tax tea teach tear technique technology telephone television temperature
tend tennis term test text theater theme theory therapy thick thin throw ticket tie tight till tip
tired title tone tongue tonight tool tooth top topic total touch tough tour tourist tower town toy
track trade tradition traditional traffic train training transport travel treat treatment tree
trend trial trick trip trouble truck true trust truth tune type typical ugly uncle understand
unfortunately union unique unit university unless unlike unusual upset urban useful user usual
usually vacation valley valuable value variety various vegetable vehicle version victim victory
video view village visit visitor voice volume volunteer vote wait wake walk wall warm warn wash
waste watch wave weak wear weather web website wedding weekend weight welcome west western wet
whatever wheel whenever wherever white whole wide wife wild willing win wind window wine wing
winner winter wise wish wonder wonderful wood worker worry worse worth write writer writing wrong
yard yellow yet yoga youth zone
"""
FAMILIAR: Final = """
absence absolute absorb abstract academic accompany accomplish accord accurate accuse acquire
adapt adjust admin administration admire adopt advance advanced advantage adventure advertise
advise affair agenda aggressive agreement agriculture aid aircraft airline airport alarm album
alcohol alive alliance alongside alter alternative ambition analysis analyze ancient angle angry
anniversary announce annual anxiety apologize app apparent appeal appearance appetite appointment
appropriate approval approve april architect architecture archive arrange arrangement arrest
arrival artist artistic aspect assess assessment asset assign assignment assist assistance
assistant associate association assumption atmosphere attach attract attraction attractive
audience august aunt automatic award awful background backup bake balance ban barely barrier
basket basketball batch battle bean beard belief bell belong belt bench bend bet bite bitter blame
blanket blend blind block blog bomb bone bonus boot border bore borrow bother bound bowl brand
brave bread breath breathe brick bridge brief broad browser brush bucket bug bunch burden butter
cabin cable cache cake calculate calm cancel cancer cap capable capacity capture carbon carpet
category ceiling celebration ceremony chain chairman champion championship channel chapter
characteristic chart chase cheek cheese chemical chest childhood chip chocolate cigarette circle
circumstance cite civil claim classroom climate cloth coal code collapse colleague column comedy
command comment commission commit commitment committee companion complain complaint component
compose concentrate concert conclude conclusion concrete conduct confident config conflict confuse
confusion congress conscious consequence conservative considerable consideration constant
construct construction consume consumer consumption container contemporary contest context
contrast convention convince cooperation core corporate corporation cottage cotton council counter
county cousin crack craft crash cream creation creature credit crew crisis criterion critic
critical criticism criticize crop crucial cue cultural curious curve custom cycle dashboard
database debt december deck declare decline decorate decrease default defeat defend defense define
definition delicious delight delivery democracy democratic demonstrate deny deploy deployment
deposit depression depth desert deserve desperate dessert destroy destruction detect developer
diet differ digital dimension directory disappoint disaster discipline discount dismiss display
distant distinct distinguish distribute distribution district diverse diversity division document
domestic dominant dominate dozen draft drag drama dramatic drawing drug duck duration eager edit
edition editor educate elderly elect electronic elegant eliminate embrace emerge emergency
emphasis emphasize empire enable encounter endpoint enemy engage engagement enhance enormous
ensure enterprise entertain entertainment enthusiasm entrance entry episode era error essay
essential estate estimate ethnic evaluate evolution evolve exact exception execute exhibit
exhibition existence expansion expectation expedition explanation explode exploration export
expose extend extension extensive extent external eyebrow fabric facility factor factory faculty
fade failed faith false fame fantasy fate fault february federal fellow female fence fetch fiber
fiction fierce fifteen fitness flame flavor flesh float flood flour fold folder format fortune
forum foundation founder fragile framework freeze frequent frequently friday friendly friendship
frighten fuel fundamental funeral gallery gap garage gateway gaze gear gender gene generate
generous genre genuine gesture ghost giant glance glove goat grace graduate grain grant grateful
grave greet grip grocery guarantee guard guilty gym handle handsome harbor harm harvest hash
headline heaven hell helpful heritage hero hesitate highlight highway historian historic
historical holy homeless honey honor hook horizon horror household housing http humor hungry hurry
hypothesis id ideal identity illegal illness illustrate imagination immigrant immigration
implement implication imply import impose impossible impress impression impressive inch index
inevitable infant infection inflation initial initially initiative injure injury innocent
innovation input inquiry insect insight insist inspection inspector install institute instruction
instructor insurance intellectual intelligence intend intense intention interaction interface
interior internal interpret interpretation intervention introduction invasion invention
investigate investigation investor invisible invitation iron isolate jail january jazz jeans
jewelry joint journal journalist json judgment july june junior jury justice justify keen keyboard
king kingdom kiss label labor laboratory ladder lamp landscape lane laser latency launch laundry
lawn layer league lean leap leather lecture legacy legend leisure lemon lend length liberal
liberty license lifestyle lifetime likewise liquid literary loan lobby log logic logical login
luxury magic magnificent maker manufacture manufacturer march margin marine marker mask mass
massive mate mathematics mature maximum may mayor meaningful meanwhile mechanic mechanism medal
meditate meditation melt membership mentor merely merge merit metric migration military mineral
minimum minister minor minority miracle mirror missile mission mixture mobile mode moderate modify
module monday monitor monster monthly monument moral moreover mortgage motion motivate motivation
motor mount mouse multiple murder muscle museum mutual myth nail naked native navy necessarily
negotiate negotiation nest neutral nevertheless nightmare node nonetheless noon norm november
nowadays nowhere nuclear numerous nurse nut object objective obligation observation observe
observer obtain occasional occupation occupy october odd offense opera operator oppose opposite
opposition optimistic organic orientation origin outcome output outstanding oven overcome overlook
owe oxygen pace package painful palace pale palm panel panic pants paragraph parameter pardon
parse participant participate participation passage passenger passionate passive password patch
patience pause payment peak peer penalty pension pepper perceive percent percentage perception
permanent permit personality personnel perspective persuade phase phenomenon philosophy photograph
photographer photography phrase physics pile pilot pin pine pioneer pipe pipeline pitch platform
playground plot plugin pocket poetry poison pole poll pollution popularity port portion portrait
possess possession pottery pour poverty powerful practical praise pray prayer precious precise
predict prediction preference pregnant presence presentation preserve presidential priest primary
prime principal principle prior priority prison prisoner privacy privilege procedure proceed
profession profile profound prominent promotion proof proportion proposal propose prospect
protection protein protest protocol province psychological psychology publication publish
publisher punish punishment pupil puppy pursue puzzle qualify quantity queen query quest queue
quit quote rabbit racial railway random rank rapid rapidly ratio raw reaction recall recognition
recommendation recover recovery recruit refactor reference reflection reform refrigerator refuse
regard regime region regional register regret regulate regulation reinforce reject relative
relatively release relevant relief rely remark remarkable remote render repair replacement
reporter repository representation representative reputation rescue researcher reserve resident
resist resistance resolution resolve resort resource restart restore restrict restriction retain
retire retirement retry revenue reverse review revolution reward rhythm rice rid ritual rival
robot rollback romantic root rope rose routine royal rub ruin rural sacred sacrifice sake sample
satellite satisfaction saturday sauce scared scenario schema scholar scholarship scientific scope
scratch scream script sculpture seal secondary secretary sector seed segment seize selection
senator sensitive separation september sequence series servant server session setting settlement
severe sexual shade shadow shallow shame shelf shell shift shock shore shortly shower sibling
signal signature silent silver simultaneously sink sixty slave slice slide slip snap soap soccer
socket soil solar sole solid sophisticated sore span spare specialist species specify spectacular
spectrum spell spice spin spiritual split sponsor sport sprint stable stadium staging stake stamp
standing stare statistics statue status steady steam steel steep stem stimulate stir stomach
storage straightforward strain stream strengthen strict string strip stroke studio stuff stupid
submit subsequent substance substantial substitute suburb sufficient suicide sum summit sunday
sunlight sunset supper supporter supposed surely surgeon surgery surprising surrounding survival
suspect suspend sustain swear sweater swing switch symptom sync syntax tackle tale tank tap tape
teammate technical teenager telescope template temple temporary tendency tension tent terminal
terms terrible territory terror terrorist testimony testing textbook therapist thorough thought
thread threat threaten thursday timeout tiny tissue tobacco toe token tolerate tomato tournament
trail transfer transform transformation transition translate transmission transportation trap
treasure treaty tremendous tribe tribute troop tropical tube tuesday twelve twenty twin twist
ultimate ultimately uncertain uncomfortable undergo unexpected unhappy uniform universal universe
unknown unlikely update upgrade upload upper username utility utilize vacuum valid validate van
variable vary vast venture venue versus vessel veteran via viewer violate violence violent virtual
virtue virus visible vision visual vital vocabulary vulnerable wage walking warning warrior weapon
webhook wednesday weed weekly weigh weird welfare wheat whereas whisper widely widespread wire
wisdom witness workflow workout workshop workspace worldwide worried wrap yield
"""
